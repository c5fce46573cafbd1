from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.factories import spec_json
from tests.server.live_server import running_server

pytestmark = pytest.mark.stack

HEAVY = ("torch", "ray", "megatron", "transformers", "reasoning_gym")


def test_it_starts_in_two_seconds_and_without_heavy_parts(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "began = time.process_time()\n"
        "from pathlib import Path\n"
        "from server.app import create_app\n"
        "from server.settings import Settings\n"
        f"app = create_app(Settings(home=Path({str(tmp_path)!r})))\n"
        "import asyncio\n"
        "async def up():\n"
        "    async with app.router.lifespan_context(app): print(time.process_time() - began)\n"
        "asyncio.run(up())\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    cpu_s, heavy = done.stdout.splitlines()
    assert heavy == "[]"
    # Processor time, so that busy neighbours of the machine do not decide.
    assert float(cpu_s) < 2.0


def test_a_second_start_keeps_runs_and_token(tmp_path: Path) -> None:
    with running_server(tmp_path / "home") as first:
        run_id = first.submit()
        token = first.settings.token_path.read_text()
        assert first.settings.token_path.stat().st_mode & 0o777 == 0o600
    with running_server(tmp_path / "home") as second:
        assert second.get(f"/runs/{run_id}")["spec"]["name"] == spec_json()["name"]
        assert second.settings.token_path.read_text() == token
