"""The Python client: submit, watch and ask for runs, and record runs of other training loops.

    from server.client import SwellClient

    with SwellClient() as client:
        run = client.submit(spec)
        for state in client.watch(run.id):
            print(state.num_steps)

It needs neither torch nor ray, and no other part of the server than the plain description of its answers.
"""

from orchestrator.contracts.plan import ConstantLengths, LognormalLengths, RunLengths
from server.client.client import SwellClient
from server.client.problem import InvalidError, NoServerError, NotFoundError, SwellError
from server.client.recording.external import deliver_journal
from server.client.recording.plain_schedule import plain_schedule
from server.client.recording.recorder import Recorder
from trainer.contracts.metric import Metric, Reduction

__all__ = [
    "ConstantLengths",
    "InvalidError",
    "LognormalLengths",
    "Metric",
    "NoServerError",
    "NotFoundError",
    "Recorder",
    "Reduction",
    "RunLengths",
    "SwellClient",
    "SwellError",
    "deliver_journal",
    "plain_schedule",
]
