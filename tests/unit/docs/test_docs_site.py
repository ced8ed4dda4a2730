"""The site of the documentation builds without a warning, and has every public name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import turnwise

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs" / "reference"
# Documented as a whole.
MODULES = {"client", "errors"}
# Constants stand in a table with their values; `settings` is explained there, too.
IN_TABLE = {"AT", "DONE", "NO_ANSWER", "PASS", "PASS_TO", "SEND_TO", "USER_QUIT_STRINGS", "settings"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=110,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "WARNING" not in output
    return target


def test_every_public_name_has_its_place_in_the_reference() -> None:
    pages = "\n".join(page.read_text() for page in sorted(REFERENCE.glob("*.md")))
    places = Counter(re.findall(r"^::: turnwise\.(\w+)$", pages, flags=re.MULTILINE))
    places.update(name for name in IN_TABLE if f"`{name}`" in pages)
    assert set(places) - MODULES == set(turnwise.__all__)
    assert [name for name, count in places.items() if count > 1] == []


def test_the_index_of_the_reference_leads_to_every_name() -> None:
    links = re.findall(r"\]\((\w+)\.md#turnwise\.(\w+)\)", (REFERENCE / "index.md").read_text())
    documented = {
        (page.stem, name)
        for page in REFERENCE.glob("*.md")
        for name in re.findall(r"^::: turnwise\.(\w+)$", page.read_text(), flags=re.MULTILINE)
        if name not in MODULES
    }
    assert set(links) == documented


def test_the_site_builds_strictly_and_shows_signatures_and_docstrings(site: Path) -> None:
    tasks = (site / "reference" / "tasks" / "index.html").read_text()
    assert 'id="turnwise.Task.run"' in tasks
    assert "Hold the conversation that begins with" in tasks
    agents = (site / "reference" / "agents" / "index.html").read_text()
    assert 'id="turnwise.ChatAgent.enable_message"' in agents  # from a base class that is no public name


def test_the_site_shows_fields_with_their_defaults_and_hides_what_is_not_for_programs(site: Path) -> None:
    pages = {page: (site / "reference" / page / "index.html").read_text() for page in ("agents", "messages", "tasks")}
    assert 'id="turnwise.TaskConfig.done_if_tool"' in pages["tasks"]
    assert 'id="turnwise.ChatAgentConfig.use_tools"' in pages["agents"]
    assert 'id="turnwise.ChatAgentConfig.llm"' in pages["agents"]  # of the class that it extends
    for page, name in (("tasks", "Task.viewing"), ("agents", "ChatAgent.facts"), ("messages", "ChatDocument.answers")):
        kind, _, member = name.partition(".")
        assert hasattr(getattr(turnwise, kind), member)
        assert f'id="turnwise.{name}"' not in pages[page], name


def test_the_site_needs_nothing_from_elsewhere(site: Path) -> None:
    for page in ("index.html", "reference/tasks/index.html"):
        loaded = re.findall(r"<(?:link|script|img)[^>]+(?:href|src)=\"(https?://[^\"]+)\"", (site / page).read_text())
        assert loaded == [], page


def test_links_to_files_outside_of_the_pages_lead_into_the_repository(site: Path) -> None:
    started = (site / "getting-started" / "index.html").read_text()
    assert "/blob/main/examples/two_agents.py" in started
    assert 'href="../examples' not in started
