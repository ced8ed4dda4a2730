"""The pages on the clients and the scripted model: what they show works as they say, on a server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import two_agents
from pydantic import SecretStr

from turnwise.cli.embedded import EmbeddedServer
from turnwise.models.base import LLMMessage, Role
from turnwise.models.openai.chat import OpenAIGPT
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.processes.settings import load_settings
from turnwise.testing.fake_llm.answer import Answer, ScriptedFault
from turnwise.testing.fake_llm.rules import Rule, RuleReply
from turnwise.testing.fake_llm.script import load_script
from turnwise.testing.fake_llm.server import FakeLLMServer

DOCS = Path(__file__).parents[2] / "docs"
CLIENTS, FAKE = (DOCS / "clients.md").read_text(), (DOCS / "fake-llm.md").read_text()
OPENAI = (DOCS / "openai.md").read_text()
ADDRESS = "http://127.0.0.1:8080"


def blocks(page: str, kind: str) -> list[tuple[str, str | None]]:
    """Fenced blocks of a kind, each with the output that the page says follows, if it says so."""
    found = re.findall(rf"^```{kind}\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", page, re.MULTILINE | re.DOTALL)
    return [(text, output or None) for text, output in found]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedServer]:
    monkeypatch.chdir(tmp_path)
    settings = load_settings(database_url=f"sqlite:///{tmp_path / 'runs.db'}", bind="127.0.0.1:0")
    with EmbeddedServer(settings, two_agents.app) as made:
        yield made


def _run(command: list[str], text: str, server: EmbeddedServer) -> str:
    told = text.replace(ADDRESS, server.url)
    ran = subprocess.run([*command, told], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    return ran.stdout


@pytest.mark.parametrize("block", blocks(CLIENTS, "python"), ids=range(4))
def test_the_python_of_the_clients_page_does_what_the_page_says(
    server: EmbeddedServer, block: tuple[str, str | None]
) -> None:
    text, output = block

    printed = _run([sys.executable, "-W", "error", "-c"], text, server)

    assert output is None or printed == output
    if "llm.delta" in text:  # the models of the example do not stream by themselves, but are watched
        # Pieces may be lost, so no answer has to be there as a whole. Without any, "taken:" is behind an empty line.
        assert re.search(r"\S\ntaken: ", printed), printed
    if "ConflictError" in text:
        assert [line.split(" ")[0] for line in printed.splitlines()] == ["unknown_task", "no_open_question"]


def test_the_curl_of_the_clients_page_does_what_the_page_says(server: EmbeddedServer) -> None:
    [(text, output)] = [block for block in blocks(CLIENTS, "bash") if block[1]]

    assert _run(["bash", "-euo", "pipefail", "-c"], text, server) == output


@pytest.mark.parametrize("block", blocks(OPENAI, "python"), ids=["chat", "responses", "langchain"])
def test_the_python_of_the_page_on_openai_does_what_the_page_says(
    server: EmbeddedServer, block: tuple[str, str | None]
) -> None:
    assert _run([sys.executable, "-c"], block[0], server) == block[1]


def test_the_rules_on_the_page_load_and_answer(tmp_path: Path) -> None:
    (rules, _) = blocks(FAKE, "json")[0]
    (tmp_path / "rules.json").write_text(rules)

    with FakeLLMServer(load_script(tmp_path / "rules.json")) as fake:
        model = OpenAIGPT(OpenAIGPTConfig(api_base=fake.base_url, api_key=SecretStr("k"), chat_model="any"))

        def said(text: str) -> str | None:
            return model.chat([LLMMessage(role=Role.USER, content=text)], 100).message

        assert said("The capital of Peru?") == "Let me look up Peru."
        assert said("Please refund 17.") == "One moment."
        assert said("Well?") == "I do not know."
        model.close()


@pytest.mark.parametrize(("name", "fields"), [("rule", Rule.model_fields), ("reply", RuleReply.model_fields)])
def test_the_page_has_every_field_of_a_rule(name: str, fields: dict[str, object]) -> None:
    table = FAKE.split(f"| Field of a {name} ")[1].split("\n\n")[0]

    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(fields)


def test_the_page_has_every_field_of_an_answer_and_a_fault() -> None:
    for name in [*Answer.model_fields, *(f'"{field}"' for field in ScriptedFault.model_fields)]:
        assert name in FAKE, json.dumps(name)
