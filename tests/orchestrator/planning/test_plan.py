import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.contracts.batch_spec import BatchSpec
from orchestrator.contracts.plan import RunPlan
from tests.orchestrator.batch_factories import batches
from tests.orchestrator.factories import case
from tests.orchestrator.planning.factories import plan
from trainer.contracts.lr_plan import lr_at
from trainer.contracts.optimizer_spec import LrUnit, OptimizerSpec
from trainer.contracts.text_model import FieldError

SMALL_DATA = {
    "type": "reasoning_gym",
    "tasks": [{"name": "spell_backward"}],
    "rollout_batch_size": 4,
    "max_prompt_tokens": 64,
}


def optimizer(**lr_schedule: Any) -> dict[str, Any]:
    return {"lr": 1e-3, "lr_schedule": lr_schedule}


def about(sentences: tuple[str, ...], field: str) -> str:
    """The sentences about a field."""
    return "\n".join(sentence for sentence in sentences if sentence.startswith(f"{field}: "))


def batch_fits(batch: BatchSpec) -> bool:
    """Whether the small run, of 16 rollouts an iteration, may have it."""
    try:
        plan(batch=batch.model_dump(exclude_none=True))
    except ValueError:
        return False
    return True


@settings(deadline=None)
@given(
    batches().filter(batch_fits),
    st.floats(0.2, 1.0),
    st.sampled_from(LrUnit),
    st.sampled_from([{"token_cap": 128}, {"token_cap": 40}, {"micro_batch_size": 3}]),
)
def test_totals_agree_with_steps_and_positions_follow_each_other(
    batch: BatchSpec, kept_frac: float, unit: LrUnit, schedule: dict[str, int]
) -> None:
    optimized = optimizer(style="cosine", warmup=20, decay=200, unit=unit)
    found = plan(batch=batch.model_dump(exclude_none=True), kept_frac=kept_frac, optimizer=optimized, schedule=schedule)
    assert found.num_steps == len(found.steps)
    assert found.num_samples == sum(step.global_batch_size for step in found.steps)
    assert [step.step for step in found.steps] == list(range(len(found.steps)))
    assert [before.lr_position_after for before in found.steps[:-1]] == [
        after.lr_position_before for after in found.steps[1:]
    ]
    spec = OptimizerSpec.model_validate(optimized)
    assert all(step.lr == lr_at(spec, step.lr_position_before) for step in found.steps)
    warming_up = [step.lr for step in found.steps if step.lr_position_before <= 20]
    assert all(before < after for before, after in pairwise(warming_up))
    for step in found.steps:
        if step.geometry is not None:
            check_geometry(found, step.geometry.model_dump(), schedule)
    assert found.model_validate_json(found.model_dump_json()) == found


def check_geometry(found: RunPlan, geometry: dict[str, Any], schedule: dict[str, int]) -> None:
    assert len(geometry["real_micro_batches"]) == found.dp
    assert max(geometry["real_micro_batches"]) <= geometry["num_microbatches"]
    assert sum(geometry["real_micro_batches"]) + geometry["num_dummies"] == found.dp * geometry["num_microbatches"]
    assert geometry["idle_bound_frac"] <= geometry["predicted_idle_frac"]
    assert geometry["max_micro_batch_tokens"] <= found.maxima.max_micro_batch_tokens
    if "token_cap" in schedule and geometry["num_over_cap"] == 0:
        assert geometry["max_micro_batch_tokens"] <= schedule["token_cap"]


@pytest.mark.parametrize(
    ("unit", "positions"), [("samples", [0, 16, 32, 48]), ("steps", [0, 1, 2, 3]), ("tokens", [0, 320, 640, 960])]
)
def test_the_position_counts_what_the_unit_says(unit: str, positions: list[int]) -> None:
    found = plan(optimizer=optimizer(unit=unit), lengths={"type": "constant", "num_tokens": 20})
    assert [0, *(step.lr_position_after for step in found.steps)] == positions
    assert found.num_tokens_expected == 960


def test_the_warm_up_of_the_shared_case() -> None:
    given, expect = (case("lr", "warmup-by-samples")[part] for part in ("given", "expect"))
    found = plan(
        iterations=7,
        batch={"type": "explicit", "sizes": given["global_batch_sizes"], "remainder": "carry"},
        optimizer={"lr": given["to"], "lr_schedule": {"warmup": given["warmup"]}},
    )
    assert [step.global_batch_size for step in found.steps[:5]] == given["global_batch_sizes"]
    assert [step.lr for step in found.steps[:5]] == pytest.approx(expect["lr_used"])
    assert found.steps[5].lr == expect["after"]


def test_the_same_request_gives_the_same_plan_and_another_seed_other_lengths() -> None:
    assert plan() == plan()
    first, other = (plan(seed=seed).steps[0].geometry for seed in (1, 2))
    assert first is not None
    assert other is not None
    assert first.num_tokens != other.num_tokens


def test_scheduled_steps_are_spread_over_the_run() -> None:
    found = plan(iterations=100, scheduled=5)
    assert [step.step for step in found.steps if step.geometry is not None] == [0, 25, 50, 74, 99]


def test_maxima_tell_what_memory_has_to_hold() -> None:
    maxima = plan(lengths={"type": "constant", "num_tokens": 40}).maxima
    assert maxima.max_sample_tokens == 72
    assert maxima.max_micro_batch_tokens == 120
    assert maxima.max_global_batch_size == 16
    assert maxima.max_micro_batch_logits_bytes == 120 * 320 * 4


def test_a_hugging_face_model_is_read_where_it_lies(tmp_path: Path) -> None:
    model = {"type": "huggingface", "path": str(tmp_path)}
    unknown = plan(model=model)
    assert unknown.maxima.max_micro_batch_logits_bytes is None
    assert "cost goes by tokens" in about(unknown.assumptions, "model.path")
    (tmp_path / "config.json").write_text(
        '{"num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16, '
        '"vocab_size": 100}'
    )
    known = plan(model=model, lengths={"type": "constant", "num_tokens": 40})
    assert known.maxima.max_micro_batch_logits_bytes == 120 * 100 * 4
    assert not about(known.assumptions, "model.path")


def test_the_share_that_the_filter_leaves_is_told_where_there_is_a_filter() -> None:
    assert plan().kept_frac == 1.0
    assert plan(kept_frac=0.5).kept_frac == 0.5
    assert plan(filter={"zero_variance": "include"}).kept_frac is None


def test_what_is_taken_for_granted_is_said() -> None:
    guessed = plan().assumptions
    assert "half of the longest" in about(guessed, "lengths")
    assert "exclude" in about(guessed, "kept_frac")
    assert about(guessed, "warm_start")
    assert "50.0%" in about(plan(kept_frac=0.5).assumptions, "kept_frac")
    adaptive = {"type": "adaptive", "global_batch_size": 8, "min_size": 4, "max_size": 16}
    assert "stay at 8" in about(plan(batch=adaptive).assumptions, "batch")
    budget = {"type": "token_budget", "tokens_per_step": 200}
    assert about(plan(batch=budget).assumptions, "batch.tokens_per_step")
    assert about(plan(optimizer=optimizer(unit="tokens")).assumptions, "optimizer.lr_schedule.unit")
    measured = {"token_cap": 128, "cost": "measured"}
    assert about(plan(schedule=measured).assumptions, "schedule.cost")


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"optimizer": optimizer(warmup=100)}, "optimizer.lr_schedule.warmup", "100 samples"),
        ({"optimizer": optimizer(style="linear", decay=20)}, "optimizer.lr_schedule.decay", "train with nothing"),
        ({"optimizer": optimizer(style="linear", decay=900)}, "optimizer.lr_schedule.decay", "still high"),
        ({"schedule": {"token_cap": 60}}, "schedule.token_cap", "longest sample 72"),
        (
            {"schedule": {"token_cap": 60}, "lengths": {"type": "constant", "num_tokens": 10}},
            "schedule.token_cap",
            "(none of those drawn here)",
        ),
        ({"schedule": {"token_cap": 1}}, "schedule.token_cap", "1 token, the longest sample 72"),
        ({"schedule": {"token_cap": 1}}, "schedule.token_cap", "(100.0% of those drawn here) run alone, above it. A s"),
        ({"schedule": {"token_cap": 1}}, "schedule.token_cap", "up to 8 micro-batches per rank; raise the cap"),
        ({"parallelism": {"dp": 20}}, "parallelism.dp", "3 of 3 steps have fewer samples"),
        ({"batch": {"type": "fixed", "global_batch_size": 9, "remainder": "drop"}}, "batch.remainder", "21 of 48"),
        (
            {"batch": {"type": "ramp", "start": 4, "end": 8, "increment": 4, "over_samples": 90}},
            "batch.over_samples",
            "never reaches",
        ),
        ({"lengths": {"type": "constant", "num_tokens": 80}}, "lengths", "1 of 1 are longer"),
        ({"lengths": {"type": "lognormal", "mean": 70}}, "lengths.mean", "longer"),
    ],
)
def test_what_is_probably_not_meant_is_told_with_its_field(changes: dict[str, Any], field: str, words: str) -> None:
    assert words in about(plan(**changes).warnings, field)


@pytest.mark.parametrize(
    ("batch", "field", "step"),
    [
        ({"type": "fixed", "global_batch_size": 500}, "batch.global_batch_size", 0),
        ({"type": "adaptive", "global_batch_size": 500, "min_size": 1, "max_size": 500}, "batch.global_batch_size", 0),
        ({"type": "explicit", "sizes": [8, 500], "remainder": "carry"}, "batch.sizes", 1),
        (
            {
                "type": "explicit",
                "table": [{"from_step": 0, "global_batch_size": 8}, {"from_step": 2, "global_batch_size": 99}],
            },
            "batch.table",
            2,
        ),
        ({"type": "ramp", "start": 8, "end": 40, "increment": 32, "over_samples": 16}, "batch.end", 2),
    ],
)
def test_a_size_that_no_step_has_is_told_with_the_step_that_asks_for_it(
    batch: dict[str, Any], field: str, step: int
) -> None:
    assert f"from step {step} on and never reached" in about(plan(batch=batch).warnings, field)


@pytest.mark.parametrize("remainder", ["partial", "carry"])
def test_a_last_step_that_is_smaller_is_no_size_that_is_never_reached(remainder: str) -> None:
    batch = {"type": "explicit", "sizes": [8, 10], "remainder": remainder}
    assert "never reached" not in str(plan(batch=batch).warnings)


def test_a_filter_that_leaves_no_group_is_what_a_run_that_trains_nothing_is_told() -> None:
    for remainder in ("partial", "carry", "drop"):
        batch = {"type": "fixed", "global_batch_size": 4, "remainder": remainder}
        assert plan(batch=batch, kept_frac=1e-9).warnings == (
            "kept_frac: 1e-09 of the rollouts are not one whole group in all iterations: the run trains nothing.",
        )


def test_a_run_that_would_train_nothing_says_so() -> None:
    found = plan(batch={"type": "fixed", "global_batch_size": 16, "remainder": "drop"}, kept_frac=0.5)
    assert (found.num_steps, found.num_samples, found.num_dropped) == (0, 0, 24)
    assert "trains nothing" in about(found.warnings, "batch.remainder")


def test_dummies_under_a_pipeline_are_told() -> None:
    model = {
        "type": "scratch",
        "num_layers": 2,
        "hidden_size": 32,
        "num_attention_heads": 4,
        "num_query_groups": 2,
        "ffn_hidden_size": 64,
    }
    found = plan(model=model, parallelism={"dp": 5, "pp": 2}, batch={"type": "fixed", "global_batch_size": 4})
    assert "dummy" in about(found.warnings, "parallelism.dp")


def test_idle_that_another_setting_would_save_is_told() -> None:
    lengths, one_each = {"type": "list", "num_tokens": [4, 4, 72]}, {"micro_batch_size": 1, "balance": "none"}
    uneven = plan(
        lengths=lengths, schedule=one_each, data=SMALL_DATA | {"rollout_batch_size": 8}, parallelism={"dp": 4}
    )
    assert "balance=cost" in about(uneven.warnings, "schedule.balance")
    many = plan(parallelism={"dp": 12})
    assert "lower dp" in about(many.warnings, "parallelism.dp")
    pipeline = plan(parallelism={"dp": 2, "pp": 2}, schedule={"token_cap": 512})
    assert "lower pp" in about(pipeline.warnings, "parallelism.pp")


def test_a_plan_without_oddities_has_no_warnings() -> None:
    found = plan(iterations=30, schedule={"token_cap": 512}, optimizer=optimizer(style="cosine", warmup=32, decay=480))
    assert found.warnings == ()


def test_too_much_to_plan_is_refused_with_its_fields() -> None:
    with pytest.raises(FieldError, match="at most 1,000,000") as caught:
        plan(data=SMALL_DATA | {"rollout_batch_size": 10**9})
    assert caught.value.fields == ("spec.data.rollout_batch_size", "spec.rollout.group_size")
    with pytest.raises(FieldError, match="ranks") as caught:
        plan(parallelism={"dp": 10**9})
    assert caught.value.fields == ("spec.parallelism.dp", "spec.parallelism.pp")


def test_large_steps_are_scheduled_sparingly_and_it_is_said() -> None:
    found = plan(iterations=10, data=SMALL_DATA | {"rollout_batch_size": 10_000}, scheduled=10)
    assert sum(step.geometry is not None for step in found.steps) == 2
    assert "only 2 steps" in about(found.assumptions, "max_scheduled_steps")


def test_a_pipeline_that_cannot_exist_keeps_nobody_busy() -> None:
    model = {"type": "huggingface", "path": "/nowhere"}
    found = plan(model=model, iterations=10, parallelism={"pp": 60_000}, schedule={"micro_batch_size": 1})
    assert not any(step.geometry for step in found.steps)
    assert "only 0 steps" in about(found.assumptions, "max_scheduled_steps")


def test_a_long_run_is_planned_in_less_than_a_second() -> None:
    began = time.process_time()
    found = plan(iterations=20_000, scheduled=64)
    assert found.num_steps == 20_000
    assert time.process_time() - began < 1


def test_nothing_heavy_is_imported() -> None:
    script = (
        "import sys, orchestrator.planning.plan, orchestrator.planning.what_if\n"
        "print([name for name in ('torch', 'ray', 'megatron', 'transformers', 'fastapi', 'sqlalchemy') "
        "if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
