"""Where a recorder sends: one attempt of one run, with the token that grants its records and nothing else."""

from __future__ import annotations

from pydantic import PositiveInt

from trainer.contracts.text_model import TextModel

_LOOPBACK = ("http://127.", "http://localhost", "http://[::1]")


def is_loopback(url: str) -> bool:
    """Whether a server is on this machine, where no proxy can reach it."""
    return url.startswith(_LOOPBACK)


class RecordedAttempt(TextModel):
    """All that is needed to send records. Kept beside a journal, readable by its owner only."""

    server_url: str
    run_id: str
    number: PositiveInt
    ingest_token: str

    @property
    def run_url(self) -> str:
        return f"{self.server_url.rstrip('/')}/api/v1/runs/{self.run_id}"

    @property
    def is_on_this_machine(self) -> bool:
        return is_loopback(self.server_url)
