"""The server process of `swell up`: wires the supervisor into the app and serves until the process is told to end.

The Ray head and its jobs are not part of it: runs that are active are left alone, and the next server adopts them.
"""

from __future__ import annotations

import logging
import logging.handlers
import threading
import time
from collections.abc import Callable
from pathlib import Path

from server.app import create_app
from server.runs.service import RunStore
from server.serve import SwellServer, build_server
from server.settings import Settings
from server.supervisor.cluster import LocalCluster
from server.supervisor.ray_head import HeadSettings, RayHead
from server.supervisor.reconciler import Reconciler
from server.supervisor.view import Deadlines, run_id_of
from server.telemetry.json_log import JsonFormatter, RequestIdFilter

_MAX_LOG_BYTES = 10 * 1024**2


def serve(settings: Settings, on_ready: Callable[[], None]) -> list[str]:
    """Serve until SIGINT or SIGTERM; on_ready is called in a thread of its own as soon as requests are answered.

    Returns the ids of the runs that go on without a server. Where there are none the Ray head is ended too.
    """
    _log_to(settings.home / "logs" / "server.log")
    cluster = LocalCluster(RayHead(HeadSettings(home=settings.home)))
    app = create_app(settings, lambda runs: _reconciler(settings, runs, cluster))
    server = build_server(settings, app)
    threading.Thread(target=_when_ready, args=(server, on_ready), name="ready", daemon=True).start()
    server.run()
    going_on = [run_id_of(job_id) for job_id in cluster.alive_jobs()]
    if not going_on:
        cluster.stop_head()
    cluster.close()
    return going_on


def _reconciler(settings: Settings, runs: RunStore, cluster: LocalCluster) -> Reconciler:
    return Reconciler(
        runs=runs,
        cluster=cluster,
        deadlines=Deadlines(
            start_s=settings.start_deadline_s,
            heartbeat_s=settings.heartbeat_deadline_s,
            lost_s=settings.lost_deadline_s,
            pause_s=settings.pause_deadline_s,
            stop_s=settings.stop_deadline_s,
        ),
        max_active_runs=settings.max_active_runs,
        server_url=settings.url,
        run_dir=settings.run_dir,
    )


def _when_ready(server: SwellServer, on_ready: Callable[[], None]) -> None:
    while not server.started:
        if server.should_exit:
            return
        time.sleep(0.05)
    try:
        on_ready()
    except Exception:
        logging.getLogger(__name__).exception("the server is up, but its greeting failed")


def _log_to(path: Path) -> None:
    """Everything into a file, as JSON lines; on the terminal what the supervisor does, and warnings."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = logging.handlers.RotatingFileHandler(path, maxBytes=_MAX_LOG_BYTES, backupCount=2)
    file.setFormatter(JsonFormatter())
    file.addFilter(RequestIdFilter())
    terminal = logging.StreamHandler()
    terminal.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    terminal.addFilter(lambda record: record.levelno >= logging.WARNING or record.name.startswith("server.supervisor"))
    logging.basicConfig(level=logging.INFO, handlers=[file, terminal])
    # It tells of every request.
    logging.getLogger("httpx").setLevel(logging.WARNING)
