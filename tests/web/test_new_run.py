"""A run from its spec in a real browser: planned while it is written, refused at its lines, launched."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.server.live_server import LiveServer
from tests.server.record_factories import group_message, iteration_message, post, rollout_message
from tests.web.browser import severe_findings, watched_context
from tests.web.conftest import login_url, see_runs
from tests.web.recorded_run import record

pytestmark = pytest.mark.stack

_TYPED = "-as-fast-as-keys-can-be-pressed"


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Spec of the run, as YAML")


@pytest.fixture
def empty_page(server: LiveServer, browser: Browser) -> Iterator[Page]:
    """A new run with nothing written, and the schema to complete from."""
    with watched_context(browser) as watched:
        page = watched.open()
        page.goto(login_url(server))
        with page.expect_response("**/openapi.json"):
            page.goto(f"{server.url}/new")
        editor(page).click()
        yield page
        assert watched.errors == []


def test_an_example_is_planned_before_it_is_launched(server: LiveServer, page: Page) -> None:
    page.goto(f"{server.url}/new?example=demo")
    expect(editor(page)).to_contain_text("name: demo")
    plan = page.get_by_role("region", name="Plan", exact=True)
    expect(plan).to_contain_text("This plan is possible")
    expect(plan).to_contain_text(re.compile(r"Steps, up to220"))
    expect(plan).to_contain_text(re.compile(r"\d\swarnings? under Checks"))
    expect(plan.get_by_role("img", name="Batch size and learning rate by step")).to_be_visible()
    expect(page.get_by_role("region", name="By level", exact=True)).to_contain_text("0 to")
    assert severe_findings(page) == []


def test_sizes_are_upper_limits_where_a_filter_leaves_rollouts_out(server: LiveServer, page: Page) -> None:
    page.goto(f"{server.url}/new?example=demo")
    plan = page.get_by_role("region", name="Plan", exact=True)
    expect(plan).to_contain_text(re.compile(r"Batch size, up to1,024before the filter"))
    expect(plan).to_contain_text("up to 1,024 samples")
    line = editor(page).locator(".cm-line", has_text="filter:")
    line.click()
    page.keyboard.press("End")
    for _ in "exclude}":
        page.keyboard.press("Backspace")
    page.keyboard.type("include}")
    expect(plan).to_contain_text(re.compile(r"Batch size1,024none dropped"))


def test_a_clone_is_planned_with_the_share_that_its_parents_filter_left(server: LiveServer, page: Page) -> None:
    run = server.launch(name="filters")
    record(server, run, range(4))
    rollouts = [
        rollout_message(str(k), fate="trained", step=0)
        if k < 5
        else rollout_message(str(k), fate="filtered", reason="zero_variance", step=None)
        for k in range(8)
    ]
    told = iteration_message(0, [group_message("group", rollouts)])
    assert post(server, run, "rollouts", told).status_code == 200
    page.goto(f"{server.url}/new?from={run.id}")
    plan = page.get_by_role("region", name="Plan", exact=True)
    expect(plan).to_contain_text("62.5% pass the filter")
    page.get_by_role("button", name="assumed").click()
    expect(plan).to_contain_text("before the filter")


def test_a_clone_is_called_by_the_next_name_that_no_run_has(server: LiveServer, page: Page) -> None:
    parent = server.submit(name="cloned")
    for name in ("cloned-2", "cloned-3"):
        page.goto(f"{server.url}/new?from={parent}")
        expect(editor(page)).to_contain_text(f"name: {name}")
        page.get_by_role("button", name="Launch run").click()
        expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


def test_the_plan_follows_the_batch_policy(server: LiveServer, page: Page) -> None:
    page.goto(f"{server.url}/new?example=demo")
    plan = page.get_by_role("region", name="Plan", exact=True)
    expect(plan).to_contain_text("1,024")
    page.get_by_role("group", name="Batch policy").get_by_role("button", name="fixed").click()
    expect(editor(page)).to_contain_text("batch: {type: fixed, global_batch_size: 256}")
    expect(plan).to_contain_text(re.compile(r"Batch size, up to256"))
    expect(plan).to_contain_text("This plan is possible")
    page.get_by_role("button", name="Launch run").click()
    expect(page.get_by_role("heading", name="demo", level=1)).to_be_visible()


def test_a_refused_spec_says_why_at_its_lines(empty_page: Page) -> None:
    page = empty_page
    editor(page).fill("name: x\niterations: 3\nbatch: {type: al}\ncolour: red\n")
    refused = page.get_by_role("region", name="The spec is refused")
    expect(refused).to_contain_text(re.compile(r"line 3\s*batch"))
    expect(refused).to_contain_text(re.compile(r"line 4\s*colour"))
    expect(editor(page).locator(".cm-problem", has_text="colour")).to_be_visible()
    expect(page.get_by_role("heading", name="The plan is impossible")).to_be_visible()
    assert severe_findings(page) == []
    expect(page.get_by_role("button", name="Launch run")).to_be_disabled()
    expect(page.get_by_text("Mend the errors to launch.")).to_be_visible()


def test_keys_and_values_are_completed(empty_page: Page) -> None:
    page = empty_page
    options = page.get_by_role("option")
    page.keyboard.type("batch:\n  type: ra")
    options.filter(has_text="ramp").click()
    expect(editor(page)).to_contain_text("type: ramp")
    page.keyboard.type("\nover")
    expect(options.filter(has_text="over_samples")).to_be_visible()


def test_what_is_typed_stays_while_slow_answers_arrive(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    run = server.launch(name="slow")
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 8})
    plans: list[Route] = []
    page.route("**/api/v1/plan:draft", lambda route: plans.append(route))
    page.goto(f"{server.url}/new?from={run.id}")
    line = editor(page).locator(".cm-line").first
    expect(line).to_have_text("name: slow-2")
    line.click()
    page.keyboard.press("End")
    page.keyboard.press("Backspace")
    page.keyboard.type(_TYPED)
    expect(page.get_by_role("button", name="Launch run")).to_be_disabled()
    for plan in plans:
        plan.continue_()
    page.unroute("**/api/v1/plan:draft")
    page.keyboard.type(_TYPED)
    expect(line).to_have_text(f"name: slow-{_TYPED}{_TYPED}")
    expect(page.get_by_role("button", name="Launch run")).to_be_enabled()


def test_a_source_that_comes_late_does_not_replace_what_was_written(server: LiveServer, page: Page) -> None:
    run = server.launch(name="slow")
    sources: list[Route] = []
    address = f"**/api/v1/runs/{run.id}"
    page.route(address, lambda route: sources.append(route))
    page.goto(f"{server.url}/new?from={run.id}")
    page.get_by_role("button", name="demo", exact=True).click()
    line = editor(page).locator(".cm-line", has_text="name: demo")
    line.click()
    page.keyboard.press("End")
    page.keyboard.type("-mine")
    for source in sources:
        source.continue_()
    expect(page.get_by_role("region", name="Changed against slow")).to_be_visible()
    page.keyboard.type("-still")
    expect(line).to_have_text("name: demo-mine-still")


def test_typing_in_the_editor_is_no_shortcut(empty_page: Page) -> None:
    page = empty_page
    page.keyboard.type("grid")
    expect(editor(page)).to_contain_text("grid")
    assert page.evaluate("document.documentElement.dataset.theme") is None
    assert page.url.endswith("/new")


def test_a_step_is_asked_what_another_layout_had_cost_and_the_run_cloned_with_it(
    server: LiveServer, page: Page
) -> None:
    run = server.launch(name="slow")
    record(server, run, range(4))
    page.goto(f"{server.url}/runs/{run.id}/schedule?step=2")
    panel = page.get_by_role("region", name="What if")
    expect(panel).to_contain_text("Change a setting")
    page.keyboard.press("w")
    expect(panel.get_by_role("group", name="dp").get_by_role("button", name="2", exact=True)).to_be_focused()
    panel.get_by_role("group", name="dp").get_by_role("button", name="1", exact=True).click()
    expect(page).to_have_url(re.compile(r"dp=1"))
    expect(panel.get_by_role("img", name="What if, estimated: dp 1, cp 1, cap 64")).to_be_visible()
    expect(panel).to_contain_text(re.compile(r"Step, estimated.*from .*\+\d+\.\d%"))
    panel.get_by_role("slider", name="token_cap").press("ArrowRight")
    expect(page).to_have_url(re.compile(r"token_cap=91"))
    page.reload()
    expect(panel.get_by_role("img", name="What if, estimated: dp 1, cp 1, cap 91")).to_be_visible()
    assert severe_findings(page) == []

    panel.get_by_role("link", name="Clone run with this layout").click()
    expect(editor(page)).to_contain_text("name: slow")
    changed = page.get_by_role("region", name="Changed against slow")
    expect(changed.get_by_role("row", name=re.compile(r"parallelism\.dp\s*2\s*1"))).to_be_visible()
    expect(changed.get_by_role("row", name=re.compile(r"schedule\.token_cap\s*64\s*91"))).to_be_visible()
    # The name of a clone is its own.
    expect(page.get_by_text(re.compile(r"^2\schanges$"))).to_be_visible()
    expect(page.get_by_role("region", name="Plan", exact=True)).to_contain_text("This plan is possible")
