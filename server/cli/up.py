"""`swell up` and `swell down`: the server of a SWELL_HOME comes and goes."""

from __future__ import annotations

import os
import signal
import sys
import time
import webbrowser
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from orchestrator.contracts.run_state import RunState
from server.cli.demo import submit_demo
from server.cli.problem import CommandError, ExitCode, command_error
from server.cli.serving import serving
from server.cli.terminal import tell_result
from server.client.client import SwellClient
from server.client.location import read_token
from server.client.server_record import ServerRecord, server_of
from server.runs.records import RunKind
from server.runs.schemas import RunSummary
from server.settings import Settings
from server.supervisor import processes
from server.supervisor.ports import can_listen

_END_DEADLINE_S = 30.0
_ACTIVE = [state for state in RunState if not state.is_terminal]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    """What `swell up` is asked for."""

    demo: bool
    open_browser: bool
    as_json: bool = False
    """Tell scripts that it is ready, and people nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What `swell down` has ended."""

    had_server: bool
    had_head: bool
    sentence: str


def up(settings: Settings, options: UpOptions, console: Console) -> None:
    """Serve this home until the process is told to end; where a server is up already, say so and give a new link."""
    with serving(settings.home, settings.url) as is_ours:
        if not is_ours:
            _greet_again(settings, options, console)
            return
        if not can_listen(settings.host, settings.port):
            raise command_error(
                ExitCode.FAILED,
                "port-taken",
                "Port taken",
                f"Something else listens on {settings.host}:{settings.port}, or that address is not of this machine; "
                "choose another with --port or --host.",
            )
        # The server's parts take half a second to import, which no other command has to wait for.
        from server.cli.database_work import refuse_unusable
        from server.cli.server_process import serve

        refuse_unusable(settings.resolved_database_url)
        going_on = serve(settings, lambda: _greet(settings, options, console))
    if options.as_json:
        return
    if going_on:
        console.print(f"The server has ended. Still training: {', '.join(going_on)}.")
        console.print("`swell up` shows them again; `swell down --force` ends them.")
    else:
        console.print("The server and its Ray head have ended.")


def down(settings: Settings, *, force: bool) -> Ended:
    """End the server and the Ray head. Refuses while runs are active, unless `force` cancels them."""
    record = server_of(settings.home)
    if record is None:
        had_head = settings.home.is_dir() and _end_head(settings.home, force=force)
        sentence = "The Ray head has ended." if had_head else f"No server of {settings.home} is up."
        return Ended(had_server=False, had_head=had_head, sentence=sentence)
    with SwellClient(url=record.url, token=read_token(settings.home)) as client:
        active = _active_jobs(client)
        if active and not force:
            raise _still_active([run.name for run in active])
        for run in active:
            client.cancel(run.id, kill=True)
        _wait_until_ended(client)
    had_head = _end_both(record, settings.home)
    sentence = "The server and its Ray head have ended." if had_head else "The server has ended; it had no Ray head."
    return Ended(had_server=True, had_head=had_head, sentence=sentence)


def _greet(settings: Settings, options: UpOptions, console: Console) -> None:
    with SwellClient(url=settings.url, token=read_token(settings.home)) as client:
        link = client.login_link()
        if options.as_json:
            tell_result("", as_json=True, url=settings.url, login_link=link)
            if options.demo:
                submit_demo(client, Console(quiet=True))
            return
        console.print(f"Swell serves {settings.home} at {settings.url}.")
        if not (settings.web_dist / "index.html").exists():
            console.print("The dashboard is not built: run `make run` once, or `npm run build` in web/.")
        console.print("Open this link to log in; it works once, within 15 minutes:\n")
        console.print(f"  {link}\n", soft_wrap=True, highlight=False)
        console.print("Another link: `swell login`. End: Ctrl-C.")
        if options.demo:
            submit_demo(client, console)
    if options.open_browser and _has_screen():
        webbrowser.open(link)


def _greet_again(settings: Settings, options: UpOptions, console: Console) -> None:
    record = _wait_for_record(settings)
    with SwellClient(url=record.url, token=read_token(settings.home)) as client:
        link = client.login_link()
        if options.as_json:
            tell_result("", as_json=True, url=record.url, login_link=link)
            if options.demo:
                submit_demo(client, Console(quiet=True))
            return
        console.print(f"A server of {settings.home} is up already (process {record.pid}) at {record.url}.")
        console.print(f"\n  {link}\n", soft_wrap=True, highlight=False)
        if options.demo:
            submit_demo(client, console)


def _wait_for_record(settings: Settings) -> ServerRecord:
    for _ in range(50):
        if (record := server_of(settings.home)) is not None:
            return record
        time.sleep(0.1)
    raise command_error(
        ExitCode.NO_SERVER,
        "no-server",
        "No server",
        f"The server of {settings.home} is just coming or going; try again.",
    )


def _end_both(record: ServerRecord, home: Path) -> bool:
    """End the server and the Ray head. Returns whether there was a head."""
    from server.supervisor.ray_head import HeadSettings, RayHead

    # Asked first: a server that ends takes an idle head along.
    had_head = RayHead(HeadSettings(home=home)).current() is not None
    _end_server(record)
    return _end_head(home, force=True) or had_head


def _end_server(record: ServerRecord) -> None:
    process = processes.find(record.pid, record.create_time)
    if process is None:
        return
    os.kill(record.pid, signal.SIGTERM)
    deadline = time.monotonic() + _END_DEADLINE_S
    while processes.is_alive(process):
        if time.monotonic() > deadline:
            raise command_error(
                ExitCode.FAILED,
                "server-stays",
                "The server stays",
                f"Process {record.pid} has not ended within {_END_DEADLINE_S:.0f} s.",
            )
        time.sleep(0.1)


def _end_head(home: Path, *, force: bool) -> bool:
    """End the Ray head if there is one. Returns whether there was."""
    from server.supervisor.cluster import LocalCluster
    from server.supervisor.ray_head import HeadSettings, RayHead
    from server.supervisor.view import run_id_of

    head = RayHead(HeadSettings(home=home))
    cluster = LocalCluster(head)
    alive = cluster.alive_jobs()
    cluster.close()
    if alive and not force:
        raise _still_active([run_id_of(job_id) for job_id in alive])
    was_there = head.current() is not None
    cluster.stop_head()
    return was_there


def _still_active(names: list[str]) -> CommandError:
    return command_error(
        ExitCode.FAILED,
        "runs-active",
        "Runs are active",
        f"These runs have not ended: {', '.join(names)}. Wait for them, cancel them, or use --force to end them now.",
    )


def _wait_until_ended(client: SwellClient) -> None:
    deadline = time.monotonic() + _END_DEADLINE_S
    while _active_jobs(client) and time.monotonic() < deadline:
        time.sleep(0.3)


def _active_jobs(client: SwellClient) -> list[RunSummary]:
    """Runs whose processes would end with the head. An external run does without: its writer waits for a server."""
    runs = client.runs(states=_ACTIVE, limit=500).items
    return [run for run in runs if run.kind is RunKind.MANAGED]


def _has_screen() -> bool:
    # Without a screen some systems open a browser in this very terminal.
    on_desktop = sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return on_desktop and sys.stdout.isatty()
