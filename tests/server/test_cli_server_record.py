import os
import signal
import subprocess
import sys
from pathlib import Path

from server.cli.serving import serving
from server.client.server_record import server_of

HOLD = """
import pathlib, sys, time
from server.cli.serving import serving
with serving(pathlib.Path(sys.argv[1]), "http://127.0.0.1:1") as is_ours:
    print(is_ours, flush=True)
    time.sleep(60)
"""


def test_only_one_server_serves_a_home_and_others_learn_where_it_is(tmp_path: Path) -> None:
    assert server_of(tmp_path) is None
    with serving(tmp_path, "http://127.0.0.1:8642") as is_ours:
        assert is_ours
        record = server_of(tmp_path)
        assert record is not None
        assert (record.url, record.pid) == ("http://127.0.0.1:8642", os.getpid())
        with serving(tmp_path, "http://127.0.0.1:9999") as second:
            assert not second
        assert server_of(tmp_path) == record
    assert server_of(tmp_path) is None


def test_a_killed_server_leaves_the_home_free(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert server_of(tmp_path) is not None
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert server_of(tmp_path) is None
    with serving(tmp_path, "http://127.0.0.1:8642") as is_ours:
        assert is_ours
