from __future__ import annotations

import pytest

from orchestrator.contracts.data_spec import ReasoningGymTask
from orchestrator.data.prompt_source import TaskPromptSource
from orchestrator.data.task_stream import TaskStream
from orchestrator.data.tasks import TaskError, make_task, task_labels
from orchestrator.rollouts.tokenizer import TextTokenizer

SPELL = ReasoningGymTask(name="spell_backward", config={"min_word_len": 3, "max_word_len": 5})
SUM = ReasoningGymTask(name="chain_sum", weight=3.0, config={"max_terms": 2, "max_digits": 1})
TOKENIZER = TextTokenizer.trained_on([], vocab_size=260)


def stream(*tasks: ReasoningGymTask, seed: int = 1, lower_case: bool = False) -> TaskStream:
    return TaskStream(tasks or (SPELL,), seed=seed, lower_case=lower_case)


def source(
    seed: int = 1, max_prompt_tokens: int = 100, tasks: tuple[ReasoningGymTask, ...] = (SPELL,)
) -> TaskPromptSource:
    return TaskPromptSource(stream(*tasks, seed=seed), TOKENIZER, max_prompt_tokens=max_prompt_tokens)


def texts(made: TaskStream, count: int = 20) -> list[str]:
    return [question.text for i in range(count) if (question := made.draw(i)) is not None]


def test_the_same_seed_gives_the_same_stream_wherever_it_is_entered() -> None:
    there, back = stream(), stream()
    forward = [there.draw(i) for i in range(1200)]
    backward = [back.draw(i) for i in reversed(range(1200))]
    assert forward == backward[::-1]


def test_neighbouring_seeds_share_no_stretch() -> None:
    first, second = texts(stream(seed=1), 300), texts(stream(seed=2), 300)
    assert not {tuple(first[i : i + 3]) for i in range(298)} & {tuple(second[i : i + 3]) for i in range(298)}


def test_a_stream_goes_on_beyond_the_size_of_a_task() -> None:
    ladder = stream(ReasoningGymTask(name="gsm_symbolic"))
    assert ladder.draw(1700) is not None


def test_tasks_are_drawn_by_weight() -> None:
    made = stream(SPELL, SUM)
    drawn = [question.task for i in range(2000) if (question := made.draw(i)) is not None]
    assert drawn.count("chain_sum") == pytest.approx(1500, abs=80)


def test_lower_case_holds_for_question_answer_and_what_the_verifier_sees() -> None:
    made = stream(ReasoningGymTask(name="letter_jumble"), lower_case=True)
    for i in range(20):
        question = made.draw(i)
        assert question is not None
        assert question.text == question.text.lower() == question.entry["question"]
        assert question.answer == question.answer.lower() == question.entry["answer"]


def test_a_task_that_fails_to_make_an_entry_loses_that_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def __len__(self) -> int:
            return 500

        def __getitem__(self, index: int) -> dict[str, object]:
            if index == 1:
                raise RuntimeError("tripped")
            return {"question": f"q{index}", "answer": None, "metadata": {}}

    monkeypatch.setattr("orchestrator.data.task_stream.make_task", lambda task, seed: Failing())
    made = stream()
    assert made.draw(1) is None
    question = made.draw(2)
    assert question is not None
    assert question.answer == ""


def test_held_out_prompts_are_never_given_for_training() -> None:
    made = source()
    held_out = {prompt.text for prompt in made.held_out(30)}
    assert not held_out & {prompt.text for prompt in made.take(1500)}


def test_asking_for_held_out_prompts_changes_neither_stream_nor_prompts() -> None:
    asked, unasked = source(), source()
    first = asked.held_out(10)
    assert [prompt.prompt_id for prompt in asked.take(50)] == [prompt.prompt_id for prompt in unasked.take(50)]
    assert unasked.held_out(10) == first == asked.held_out(10)
    assert asked.held_out(20)[:10] == first


@pytest.mark.parametrize("held_out_first", [0, 40])
def test_a_source_goes_on_where_another_one_stood(held_out_first: int) -> None:
    made, later = source(max_prompt_tokens=60), source(max_prompt_tokens=60)
    made.held_out(held_out_first)
    made.take(70)
    later.held_out(10)
    later.go_to(made.position())
    assert later.position() == made.position()
    assert later.take(90) == made.take(90)
    assert later.held_out(60) == made.held_out(60)
    assert later.num_left_out == made.num_left_out


def test_prompt_ids_are_unique() -> None:
    prompts = source().take(300)
    assert len({prompt.prompt_id for prompt in prompts}) == 300


def test_too_long_prompts_are_left_out_and_counted() -> None:
    shortest = min(len(prompt.token_ids) for prompt in source().take(50))
    made = source(max_prompt_tokens=shortest)
    assert {len(prompt.token_ids) for prompt in made.take(20)} == {shortest}
    assert made.num_left_out > 0


@pytest.mark.parametrize("ask", ["take", "held_out"])
def test_a_limit_that_no_prompt_meets_is_told(ask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.data.prompt_source._MAX_DRAWS", 50)
    with pytest.raises(ValueError, match=r"raise data\.max_prompt_tokens"):
        getattr(source(max_prompt_tokens=3), ask)(2)


def test_tasks_of_the_same_name_are_told_apart() -> None:
    assert task_labels([SPELL, SUM]) == ("spell_backward", "chain_sum")
    assert task_labels([SPELL, SUM, SPELL]) == ("spell_backward#0", "chain_sum", "spell_backward#2")


def test_a_task_error_keeps_its_field_over_a_process_border() -> None:
    import pickle

    with pytest.raises(TaskError) as raised:
        make_task(ReasoningGymTask(name="nonsense"), seed=0)
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (copy.field, str(copy)) == ("name", str(raised.value))
