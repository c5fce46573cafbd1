"""The answers that the dashboard's own tests read are those of the server."""

from __future__ import annotations

import math

import pytest

from tests.golden.answers import answers, stored
from tests.server.live_server import LiveServer

pytestmark = pytest.mark.stack


def test_the_server_answers_what_the_dashboard_is_tested_with(server: LiveServer) -> None:
    assert answers(server) == stored()


def test_what_a_page_has_to_say_of_a_step_is_what_its_record_says() -> None:
    step = stored()["step"]
    assert step["expected"]["idle_frac"] == pytest.approx(step["row"]["measured_idle_frac"])
    assert step["expected"]["weight_sum"] == "1"
    positions = sum(map(sum, step["schedule"]["num_positions"]))
    assert sum(map(sum, step["expected"]["padding"])) / positions == pytest.approx(step["row"]["padding_frac"])
    assert math.fsum(step["expected"]["busy_s"]) < 2 * step["expected"]["makespan_s"]
