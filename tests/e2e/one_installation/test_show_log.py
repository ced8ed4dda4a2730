"""The log of a served run, as `turnwise show` writes it: it is that of the same run in one process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.e2e import served
from tests.e2e.application import app
from tests.e2e.expected import scenario_named
from tests.e2e.installation import Distributed, Embedded
from tests.e2e.scenarios import SCENARIOS, Scenario
from tests.support.cli import Terminal

from turnwise import InfiniteLoopException, TaskConfig
from turnwise.client import Client

pytestmark = pytest.mark.usefixtures("model")
_TIMES = re.compile(r'datetime="[^"]*"|\d[\d:.,]* s\b|\d+:\d\d(:\d\d)?|\d{4}-\d\d-\d\d [\d:]+ UTC')
_QUICK = [scenario for scenario in SCENARIOS if scenario.task != "slow"]


def show(client: Client, run_id: str, *options: str) -> str:
    return Terminal(Path()).run("show", run_id, *options, "--url", client.base_url)


def in_process(scenario: Scenario, folder: Path) -> str:
    """The page that `Task.run` leaves."""
    root = app.build(scenario.task)
    root.config = TaskConfig.model_validate({**dict(root.config), "logs_dir": str(folder)})
    answers = iter(scenario.answers)
    for task in root.tree().tasks.values():
        task.agent.callbacks.get_user_response = lambda *_, **__: next(answers)
    try:
        root.run(scenario.message, turns=scenario.turns or -1, max_tokens=scenario.max_tokens or 0)
    except Exception as raised:  # noqa: BLE001 - how a scenario ends is what is compared
        assert isinstance(raised, InfiniteLoopException) or scenario.status_code == "ERROR", raised
    (page,) = folder.glob("*.html")
    return page.read_text()


def content(page: str) -> list[str]:
    """Return the text of the page, without times; line by line, because a difference of two long texts can be read."""
    return _TIMES.sub("TIME", page.partition("<main>")[2]).splitlines()


def assert_same_page(client: Client, scenario: Scenario, folder: Path) -> None:
    """Play it over HTTP and in this process, and compare the pages."""
    run_id = served.submit(client, scenario)
    served.follow(client, run_id, scenario.answers)
    show(client, run_id, "--html", "-o", str(folder / "run.html"))
    page = (folder / "run.html").read_text()
    assert run_id in page.partition("<main>")[0]
    assert content(page) == content(in_process(scenario, folder / "logs"))


@pytest.mark.parametrize("scenario", _QUICK, ids=str)
def test_an_embedded_run_has_the_page_of_one_in_process(scenario: Scenario, embedded: Embedded, tmp_path: Path) -> None:
    with Client(embedded.url) as client:
        assert_same_page(client, scenario, tmp_path)


def test_so_has_a_distributed_run(distributed: Distributed, tmp_path: Path) -> None:
    with Client(distributed.url) as client:
        assert_same_page(client, scenario_named("delegation"), tmp_path)


def test_a_run_that_waits_has_a_page_of_what_was_said_so_far(anywhere: Client) -> None:
    run_id = served.submit(anywhere, scenario_named("order"))
    served.status_once(anywhere, run_id, "waiting")

    page = show(anywhere, run_id, "--html")
    anywhere.cancel(run_id)

    assert '<span id="state">waiting</span>' in page
    assert "Which colour" in page
    assert "The run ended" not in page
    assert page.endswith("</html>\n")


def test_the_same_log_comes_as_a_table_and_as_text(anywhere: Client) -> None:
    run_id = served.submit(anywhere, scenario_named("delegation"))
    served.follow(anywhere, run_id)

    table = show(anywhere, run_id, "--tsv").splitlines()
    text = show(anywhere, run_id, "--text")

    assert table[0].startswith("mark\ttask\tresponder\t")
    assert {line.count("\t") for line in table} == {table[0].count("\t")}
    assert "(Lead/Researcher/Reader)" in text
    assert text.rstrip().endswith("end: DONE")
    assert "\x1b" not in text
