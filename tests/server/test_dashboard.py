from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.live_server import running_server

pytestmark = pytest.mark.stack

PAGE = "<!doctype html><title>Swell</title>"


@pytest.fixture
def web_dist(tmp_path: Path) -> Path:
    dist = tmp_path / "dist"
    (dist / "assets").mkdir(parents=True)
    (dist / "index.html").write_text(PAGE)
    (dist / "icon.svg").write_text("<svg/>")
    (dist / "assets" / "main-abc123.js").write_text("export {}")
    (tmp_path / "secret").write_text("not yours")
    return dist


def test_every_address_that_is_no_file_is_the_page(tmp_path: Path, web_dist: Path) -> None:
    with running_server(tmp_path / "home", web_dist=web_dist) as live:
        for path in ("/", "/runs/run_x", "/runs/a/steps/3", "/index.html", "/secret", "/..%2fsecret", "/%2e%2e/secret"):
            answer = live.http.get(path)
            assert (answer.status_code, answer.text) == (200, PAGE), path
            assert answer.headers["cache-control"] == "no-cache"


def test_files_with_a_hash_in_their_name_are_kept_for_ever(tmp_path: Path, web_dist: Path) -> None:
    with running_server(tmp_path / "home", web_dist=web_dist) as live:
        script = live.http.get("/assets/main-abc123.js")
        assert "immutable" in script.headers["cache-control"]
        assert script.headers["content-type"].startswith("text/javascript")
        assert live.http.get("/icon.svg").headers["cache-control"] == "no-cache"
        # A page of an older build asks for what is gone: the page itself would be no script.
        assert live.http.get("/assets/main-old.js").status_code == 404


def test_the_api_is_never_the_page(tmp_path: Path, web_dist: Path) -> None:
    with running_server(tmp_path / "home", web_dist=web_dist) as live:
        assert live.http.get("/api/v2/runs").status_code == 404
        assert live.http.post("/runs").status_code == 405


def test_a_dashboard_that_is_not_built_is_said_so(tmp_path: Path) -> None:
    with running_server(tmp_path / "home", web_dist=tmp_path / "nothing") as live:
        answer = live.http.get("/runs/x")
        assert answer.status_code == 503
        assert "not built" in answer.text
