"""The larger examples do what they say: a team with approval and budget, a manual, a reviewer with a server's tools."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import research_team
from examples.code_review import reviewer
from examples.manual_search import manual_search
from tests.support.client_views import present
from tests.support.results import given

from turnwise import Task
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.processes.settings import load_settings

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripted models answer, and files are written into a folder of the test's own."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def institute(tmp_path: Path) -> Iterator[Client]:
    """The research team, served."""
    settings = load_settings(database_url=f"sqlite:///{tmp_path / 'runs.db'}", bind="127.0.0.1:0")
    with EmbeddedServer(settings, research_team.app) as server, Client(server.url) as client:
        yield client


def team(answer: str) -> Task:
    task = research_team.research()
    task.agent.callbacks.get_user_response = lambda prompt: answer
    return task


def script(path: str, *arguments: str) -> str:
    """Standard output of an example, run in its folder as its first lines say."""
    variables = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    folder = (EXAMPLES / path).parent
    done = subprocess.run(
        [sys.executable, EXAMPLES / path, *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_the_team_looks_up_what_a_person_approved() -> None:
    approved = team("yes")

    assert "2.5 times the heat" in given(approved.run("Are heat pumps worth it?", max_tokens=20_000)).content
    assert approved.stop_reason is None


def test_the_team_looks_up_nothing_else() -> None:
    assert "not approved" in given(team("no, too dear").run("Are heat pumps worth it?")).content

    hasty = research_team.research().agent
    asked = hasty.agent_response('{"request": "ask_searcher", "question": "What does it cost?"}')
    assert given(asked).content == "No plan is approved. Propose one."


def test_the_team_stops_at_its_budget() -> None:
    poor = team("yes")

    poor.run("Are heat pumps worth it?", max_tokens=1_500)

    assert present(poor.stop_reason).limit == "tokens"


def test_served_the_team_waits_for_the_approval_and_stops_at_its_budget(institute: Client) -> None:
    rich = institute.submit("research", "Are heat pumps worth it?", max_tokens=20_000, wait=30)
    poor = institute.submit("research", "Are heat pumps worth it?", max_tokens=1_500, wait=30)

    for run in (rich, poor):
        assert run.status == "waiting"
        institute.answer(run.id, "yes")
        *_, _last = institute.events(run.id)

    assert "It pays off" in present(institute.run(rich.id).result).content
    assert present(institute.run(poor.id).stopped).limit == "tokens"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How long is the warranty?", "The warranty is three years from the day of purchase"),
        ("Can the water tank go into the dishwasher?", "Never put it into the dishwasher: its seal"),
        ("Is there a moon of Jupiter?", "The manual does not say that."),
    ],
)
def test_the_manual_answers_with_the_name_of_its_page(question: str, answer: str) -> None:
    said = given(manual_search.ask().run(question)).content

    assert said.startswith(answer)
    assert said.endswith(".md)") is not answer.startswith("The manual")


def test_the_manual_names_no_page_that_was_not_retrieved() -> None:
    guide = manual_search.ask().agent

    said = guide.agent_response('{"request": "give_answer", "answer": "Ten years.", "pages": ["warranty.md"]}')

    assert "You have not retrieved warranty.md" in given(said).content


def test_the_reviewer_finds_both_faults_and_proves_them() -> None:
    first, second = script("code_review/reviewer.py").splitlines()

    assert first.startswith("basket.py:9: ")
    assert "[33.33, 33.33, 33.33]" in second
    basket = (EXAMPLES / "code_review/basket.py").read_text().splitlines()
    assert "if added > 100" in basket[8]
    assert "round(amount / people, 2)" in basket[15]


def test_the_reviewer_sees_no_file_outside_of_the_folder() -> None:
    with reviewer.repository:
        agent = reviewer.review().agent
        for name in ("../research_team.py", "/etc/passwd", "nothing.py"):
            said = given(agent.agent_response(f'{{"request": "repo_read_file", "name": "{name}"}}'))
            assert f"there is no file '{name}'" in said.content
