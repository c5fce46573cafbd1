import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pytest

from server.supervisor import processes
from server.supervisor.cluster import JOB_TAG, LocalCluster
from server.supervisor.jobs import JobClient, JobStatus
from server.supervisor.ray_head import HEAD_TAG, HeadSettings, RayHead
from server.supervisor.view import JobState

pytestmark = pytest.mark.stack

SLEEP = f"{sys.executable} -c 'import time; time.sleep(300)'"


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayHead]:
    head = RayHead(HeadSettings(home=tmp_path_factory.mktemp("home")))
    yield head
    head.stop()


def test_a_job_runs_once_is_known_by_its_id_and_can_be_stopped(head: RayHead) -> None:
    with client_of(head) as client:
        for _ in range(2):
            client.submit("run-1", entrypoint=SLEEP, environment={"TAG": "x"})
        wait_for(lambda: len(processes.tagged("TAG", "x")) > 0)
        assert client.alive() == ["run-1"]
        client.stop("run-1")
        wait_for(lambda: ended(client, "run-1"))
        assert client.get("never") is None


def test_what_ray_leaves_of_a_stopped_job_is_ended(head: RayHead) -> None:
    with client_of(head) as client, closing(LocalCluster(head)) as cluster:
        client.submit("run-5", entrypoint=SLEEP, environment={JOB_TAG: "run-5"})
        wait_for(lambda: len(processes.tagged(JOB_TAG, "run-5")) > 0)
        cluster.stop_job("run-5")
        wait_for(lambda: cluster.look("run-5").state is JobState.ENDED)
        # Ray may lose a process that it is only just starting.
        cluster.end_processes("run-5")
        assert not cluster.look("run-5").has_processes


def test_a_failed_job_tells_its_exit_code_and_last_lines(head: RayHead) -> None:
    with client_of(head) as client:
        client.submit("run-2", entrypoint=f"{sys.executable} -c 'raise RuntimeError(\"no wood\")'", environment={})
        wait_for(lambda: ended(client, "run-2"))
        job = client.get("run-2")
        assert job is not None
        assert job.status is JobStatus.FAILED
        assert "no wood" in job.message
        assert "no wood" in client.logs("run-2")


def test_nothing_of_a_head_or_its_jobs_listens_to_the_network(head: RayHead) -> None:
    record = head.ensure(threading.Event())
    task = (
        "import ray; ray.init(); ray.get(ray.remote(lambda: 5).remote()); print('worked'); import time; time.sleep(99)"
    )
    with client_of(head) as client:
        client.submit("run-4", entrypoint=f'{sys.executable} -c "{task}"', environment=head.environment())
        wait_for(lambda: "worked" in client.logs("run-4"))
        addresses = {
            connection.laddr.ip
            for process in processes.tagged(HEAD_TAG, record.head_id)
            for connection in process.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        }
        client.stop("run-4")
    assert {address.removeprefix("::ffff:") for address in addresses} == {"127.0.0.1"}


def test_the_next_server_adopts_a_living_head_and_replaces_a_dead_one(head: RayHead) -> None:
    first = head.ensure(threading.Event())
    adopted = RayHead(HeadSettings(home=head_home(head)))
    assert adopted.ensure(threading.Event()) == first
    with client_of(head) as client:
        client.submit("run-3", entrypoint=SLEEP, environment={})
        wait_for(lambda: client.alive() == ["run-3"])
    os.kill(first.pid, signal.SIGKILL)
    wait_for(lambda: head.current() is None)
    second = adopted.ensure(threading.Event())
    assert second.pid != first.pid
    assert processes.tagged(HEAD_TAG, first.head_id) == []
    with client_of(adopted) as client:
        assert client.get("run-3") is None
    adopted.stop()


def test_stopping_a_head_leaves_nothing_of_it(head: RayHead) -> None:
    record = head.ensure(threading.Event())
    head.stop()
    assert head.current() is None
    assert processes.tagged(HEAD_TAG, record.head_id) == []
    assert not Path(record.temp_dir).exists()


@contextmanager
def client_of(head: RayHead) -> Iterator[JobClient]:
    client = JobClient(dashboard_url=head.ensure(threading.Event()).dashboard_url, token=head.token())
    with closing(client):
        yield client


def head_home(head: RayHead) -> Path:
    return Path(head.environment()["RAY_AUTH_TOKEN_PATH"]).parent


def ended(client: JobClient, job_id: str) -> bool:
    job = client.get(job_id)
    return job is not None and job.status.has_ended


def wait_for(holds: Callable[[], bool], timeout_s: float = 90.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)
