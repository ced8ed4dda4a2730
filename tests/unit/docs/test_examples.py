"""The examples do what their pages say, as scripts, in this process and served."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import mcp_tools, tool_loop, two_agents
from tests.support.client_views import present

from turnwise import ChatDocument, Task
from turnwise.api.inbox import QuestionView
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.processes.settings import load_settings

FOLDER = Path(__file__).parents[3] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))


def said(result: ChatDocument | None) -> str:
    assert result is not None
    return result.content


def with_human(task: Task, answer: str) -> Task:
    task.agent.callbacks.get_user_response = lambda prompt: answer
    return task


@pytest.fixture
def travel_agency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """`two_agents`, served in this process."""
    monkeypatch.chdir(tmp_path)
    settings = load_settings(database_url=f"sqlite:///{tmp_path / 'runs.db'}", bind="127.0.0.1:0")
    with EmbeddedServer(settings, two_agents.app) as server, Client(server.url) as client:
        yield client


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_as_a_script_and_is_short(path: Path, tmp_path: Path) -> None:
    # With a key, an example would call OpenAI.
    env = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    command = [sys.executable, str(path)]
    ran = subprocess.run(
        command, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.strip()


def test_every_example_is_short_and_listed() -> None:
    listed = (FOLDER / "README.md").read_text()
    own = (FOLDER / "support_desk").iterdir()  # its code is in the package

    for path in {*FOLDER.rglob("*.py")} - set(own):
        assert len(path.read_text().splitlines()) <= 150, path
    for path in FOLDER.iterdir():
        assert path.name in ("README.md", "__pycache__") or f"({path.name}" in listed, path


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        ("3 lamps and 2 chairs", "That is 270 EUR."),
        ("2 sofas and 1 desk", "That is 220 EUR."),
        ("nothing, thanks", "There is nothing to add up."),
    ],
)
def test_the_tool_loop_adds_an_order_up(order: str, answer: str) -> None:
    assert said(tool_loop.quote().run(order)) == answer


def test_the_reporter_uses_tools_of_all_kinds() -> None:
    with mcp_tools.weather:
        assert said(mcp_tools.report().run("Report on Oslo")) == 'Published: "Oslo" is < 40 degrees & cold.'


def test_the_planner_books_what_the_human_agrees_to() -> None:
    assert said(with_human(two_agents.trip(), "yes").run("A weekend in Lyon")) == "It is booked."


def test_the_planner_books_nothing_else() -> None:
    refused = with_human(two_agents.trip(), "too dear").run("A weekend in Porto")

    assert said(refused) == "Nothing is booked: too dear"


def test_served_the_planner_waits_for_an_answer_over_http(travel_agency: Client) -> None:
    run = travel_agency.submit("trip", "A weekend in Lyon", wait=30)
    (question,) = travel_agency.inbox()

    travel_agency.answer(run.id, "yes")
    *_, last = travel_agency.events(run.id)

    assert run.status == "waiting"
    assert isinstance(question, QuestionView)
    assert question.text == "The fare to Lyon is 84 EUR. Shall I book?"
    assert last.type == "run.completed"
    assert present(travel_agency.run(run.id).result).content == "It is booked."
