"""The prompts of a run: the `PromptSource` over a stream of procedural tasks.

    stream ──► too long? left out ──► held out, by a hash of the text ──► the rest, for training

The split depends on the text, so that a question that comes again in the stream stays on its side.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence

from orchestrator.contracts.rollout import Prompt, SourcePosition
from orchestrator.data.task_stream import Question, TaskStream
from orchestrator.rollouts.tokenizer import TextTokenizer

_HELD_OUT_ONE_IN = 16
_MAX_DRAWS = 10_000
"""A stream that gives nothing usable in so many draws never will."""


class TaskPromptSource:
    """Prompts for training and, apart from them, for measuring."""

    def __init__(self, stream: TaskStream, tokenizer: TextTokenizer, *, max_prompt_tokens: int) -> None:
        self._stream = stream
        self._tokenizer = tokenizer
        self._max_prompt_tokens = max_prompt_tokens
        self._next_index = 0
        self._training: deque[tuple[int, Prompt]] = deque()  # with their indices
        self._held_out: list[int] = []  # indices: prompts that nobody asks for would only fill memory
        self._num_left_out = 0

    @property
    def num_left_out(self) -> int:
        """Questions so far that were longer than allowed, or that their task failed to make."""
        return self._num_left_out

    def position(self) -> SourcePosition:
        """Where the stream stands."""
        return SourcePosition(
            next_index=self._next_index,
            drawn=tuple(index for index, _ in self._training),
            held_out=tuple(self._held_out),
            num_left_out=self._num_left_out,
        )

    def go_to(self, position: SourcePosition) -> None:
        """Go on from there, as if everything before it had been taken."""
        self._next_index = position.next_index
        self._training = deque((index, self._prompt_at(index)) for index in position.drawn)
        self._held_out = list(position.held_out)
        self._num_left_out = position.num_left_out

    def take(self, count: int) -> Sequence[Prompt]:
        """The next prompts of the stream.

        Raises:
            ValueError: the stream gives no prompt that is short enough.
        """
        for _ in range(_MAX_DRAWS + count):
            if len(self._training) >= count:
                return [self._training.popleft()[1] for _ in range(count)]
            self._advance()
        raise self._starved(count)

    def held_out(self, count: int) -> Sequence[Prompt]:
        """The first `count` prompts that `take` never gives.

        Raises:
            ValueError: the stream gives no prompt that is short enough, or has too few different ones to hold any out.
        """
        for _ in range(_MAX_DRAWS + _HELD_OUT_ONE_IN * count):
            if len(self._held_out) >= count:
                return [self._prompt_at(index) for index in self._held_out[:count]]
            self._advance()
        raise self._starved(count)

    def _advance(self) -> None:
        question = self._stream.draw(self._next_index)
        self._next_index += 1
        prompt = None if question is None else self._fitting(question)
        if prompt is None:
            self._num_left_out += 1
        elif _is_held_out(prompt.text):
            self._held_out.append(self._next_index - 1)
        else:
            self._training.append((self._next_index - 1, prompt))

    def _fitting(self, question: Question) -> Prompt | None:
        token_ids = self._tokenizer.encode_prompt(question.text)
        if len(token_ids) > self._max_prompt_tokens:
            return None
        return Prompt(
            prompt_id=f"{question.task}-{question.index}",
            text=question.text,
            token_ids=token_ids,
            answer=question.answer,
            task=question.task,
            entry=question.entry,
        )

    def _prompt_at(self, index: int) -> Prompt:
        question = self._stream.draw(index)
        prompt = None if question is None else self._fitting(question)
        if prompt is None:
            raise RuntimeError(f"question {index} of the stream changed: a task depends on more than its seed")
        return prompt

    def _starved(self, count: int) -> ValueError:
        return ValueError(
            f"{self._next_index} draws from data.tasks gave fewer than {count} prompts: {self._num_left_out} were "
            f"longer than data.max_prompt_tokens={self._max_prompt_tokens} or failed, {len(self._held_out)} are held "
            "out; raise data.max_prompt_tokens, or choose tasks with more different questions"
        )


def _is_held_out(text: str) -> bool:
    return hashlib.sha256(text.encode()).digest()[0] % _HELD_OUT_ONE_IN == 0
