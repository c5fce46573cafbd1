"""What a server is told at its start. Built once at the edge of the process and passed in, never read globally."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from server.retention.limits import RetentionLimits

DEFAULT_PORT = 8642
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the server keeps its data, where it listens, and how long it waits."""

    home: Path
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    database_url: str | None = None
    """None: SQLite under `home`. PostgreSQL: `postgresql://user@host/name`."""
    web_dist: Path = Path(__file__).parent.parent / "web" / "dist"
    """The built dashboard."""
    allowed_hosts: tuple[str, ...] = ()
    """Further host names under which browsers may reach the server; loopback names and `host` always may."""
    heartbeat_deadline_s: float = 30.0
    """Without a heartbeat for so long a running run is lost."""
    start_deadline_s: float = 180.0
    """A driver that has not reported for so long after its job was submitted is lost."""
    lost_deadline_s: float = 300.0
    """A lost run that does not come back within this time fails."""
    pause_deadline_s: float = 600.0
    """A driver that is asked to pause and has not within this time goes on: its step takes longer than the wish."""
    stop_deadline_s: float = 10.0
    """A driver that is asked to stop and has not ended within this time is ended."""
    external_silence_s: float = 120.0
    """An external run whose writer tells nothing for so long is lost; a writer may post steps and no heartbeats."""
    external_stop_deadline_s: float = 60.0
    """An external run that is asked to stop and has not within this time counts as cancelled."""
    delete_grace_s: float = 30.0
    """For so long a deleted run can be restored; then its records are removed."""
    retention: RetentionLimits = field(default_factory=RetentionLimits)
    """How much is kept of old rollouts, logs, schedules, timelines and samples of the machine."""
    max_active_runs: int = 1
    """Runs at a time; the others wait. More would share the cores of one machine, and each be slower than alone."""
    max_body_bytes: int = 64 * MIB
    """A larger request is refused, whatever it says of its own length."""
    head_deadline_s: float = 20.0
    """A connection that does not send the whole head of a request within this time is closed; it fits in a packet."""
    body_deadline_s: float = 120.0
    """A body that is not here whole within this time is refused: while it arrives, it takes the place of another."""
    max_recording_batches: int = 128
    """More batches of steps or events than this at once are answered with 429; a driver sends them again."""
    max_queued_writes: int = 2000
    """More writes than this at once are answered with 429."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read SWELL_HOME (default `~/.swell`), SWELL_HOST, SWELL_PORT, SWELL_DATABASE_URL, SWELL_ALLOWED_HOSTS,
        SWELL_MAX_ACTIVE_RUNS, and what is kept: SWELL_KEEP_ROLLOUT_STEPS, SWELL_KEEP_LOG_LINES,
        SWELL_KEEP_SCHEDULE_STEPS, SWELL_KEEP_TIMELINE_STEPS, SWELL_KEEP_SYSTEM_DAYS (numbers, or `all`). Raises
        ValueError for what cannot be.
        """
        return cls(
            home=Path(environment.get("SWELL_HOME") or "~/.swell").expanduser().resolve(),
            host=environment.get("SWELL_HOST") or "127.0.0.1",
            port=_number(environment, "SWELL_PORT", default=DEFAULT_PORT, lowest=0, highest=65_535),
            database_url=environment.get("SWELL_DATABASE_URL") or None,
            allowed_hosts=tuple(filter(None, (environment.get("SWELL_ALLOWED_HOSTS") or "").split(","))),
            max_active_runs=_number(environment, "SWELL_MAX_ACTIVE_RUNS", default=1, lowest=1, highest=1000),
            retention=_retention(environment),
        )

    @property
    def resolved_database_url(self) -> str:
        return self.database_url or f"sqlite:///{self.home / 'swell.db'}"

    @property
    def token_path(self) -> Path:
        """The admin token, readable by its owner only."""
        return self.home / "token"

    @property
    def url(self) -> str:
        """How this machine reaches the server."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::", "") else self.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def run_dir(self, run_id: str) -> Path:
        """The directory of one run, for its journal and logs."""
        return self.home / "runs" / run_id


def _retention(environment: Mapping[str, str]) -> RetentionLimits:
    found: dict[str, int | None] = {}
    for limit in fields(RetentionLimits):
        name = f"SWELL_KEEP_{limit.name.upper()}"
        if environment.get(name) == "all":
            found[limit.name] = None
        elif environment.get(name):
            found[limit.name] = _number(environment, name, default=0, lowest=1, highest=10**9)
    return RetentionLimits(**found)


def _number(environment: Mapping[str, str], name: str, *, default: int, lowest: int, highest: int) -> int:
    text = environment.get(name)
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and lowest <= int(text) <= highest):
        raise ValueError(f"{name}={text!r} must be a number from {lowest} to {highest}")
    return int(text)
