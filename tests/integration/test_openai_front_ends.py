"""LangChain and the chat front end `llm` over the OpenAI door, with an API key of the server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from tests.support.door_desk import Recaller, door_server

from turnwise.cli.embedded import EmbeddedServer
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.record.tenants.caller import RUNS_READ, RUNS_WRITE, Scope
from turnwise.record.tenants.keys import NewKey
from turnwise.record.tenants.tenant import DEFAULT_TENANT

TALK = [SystemMessage("Be brief."), HumanMessage("I am Ann."), AIMessage("Hi Ann."), HumanMessage("Who am I?")]
TOLD = "I was told user: Be brief. / user: I am Ann. / assistant: Hi Ann. / user: Who am I?"
# As the page of the door shows it.
MODELS = """\
- model_id: clerk
  model_name: clerk
  api_base: "{url}/v1"
  api_key_name: turnwise
- model_id: painter
  model_name: painter
  api_base: "{url}/v1"
  api_key_name: turnwise
"""
# `llm` in a process of its own, as it comes from its package.
LLM = (sys.executable, "-m", "llm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("door")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[EmbeddedServer]:
    with door_server(folder, Recaller(), auth="keys") as made:
        yield made


def key_of(folder: Path, *scopes: Scope) -> str:
    """A new key of the server."""
    database = Database(f"sqlite:///{folder / 'runs.db'}")
    try:
        new = NewKey(tenant=DEFAULT_TENANT, name="desk", scopes=scopes, lifetime=None, created_by="test")
        return Store(database).operator().create_key(new)[1].text
    finally:
        database.close()


@pytest.fixture(scope="module")
def key(server: EmbeddedServer, folder: Path) -> str:
    return key_of(folder, RUNS_READ, RUNS_WRITE)


@contextmanager
def chat(server: EmbeddedServer, key: str, model: str, *, responses: bool = False) -> Iterator[ChatOpenAI]:
    with httpx2.Client(timeout=30) as http:
        # Its fields have other names for the type checker.
        settings: dict[str, Any] = {"model": model, "base_url": f"{server.url}/v1", "api_key": key, "http_client": http}
        yield ChatOpenAI(**settings, use_responses_api=responses)


@pytest.mark.parametrize("responses", [False, True])
def test_langchain_talks_with_a_task(server: EmbeddedServer, key: str, responses: bool) -> None:
    with chat(server, key, "recall", responses=responses) as desk:
        answer = desk.invoke(TALK)
        pieces = list(desk.stream(TALK))

    assert answer.text == TOLD
    assert "".join(piece.text for piece in pieces) == TOLD
    assert answer.usage_metadata is not None
    assert (answer.usage_metadata["input_tokens"], answer.usage_metadata["output_tokens"]) == (11, 3)


def test_langchain_answers_the_question_of_a_task(server: EmbeddedServer, key: str) -> None:
    said = [HumanMessage("paint it")]

    with chat(server, key, "painter") as painter:
        question = painter.invoke(said)
        answer = painter.invoke([*said, question, HumanMessage("blue")])

    assert question.text == "Which colour do you want?"
    assert answer.text.endswith("assistant: Which colour do you want? / user: blue")


def test_a_front_end_of_the_command_line_chats(server: EmbeddedServer, key: str, tmp_path: Path) -> None:
    (tmp_path / "extra-openai-models.yaml").write_text(MODELS.format(url=server.url))
    surroundings = os.environ | {"LLM_USER_PATH": str(tmp_path)}

    def llm(*words: str, typed: str = "") -> str:
        done = subprocess.run(
            [*LLM, *words], input=typed, env=surroundings, capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout.strip()

    first = llm("-m", "clerk", "--key", key, "--no-stream", "I am Ann.")
    painted = llm("chat", "-m", "painter", "--key", key, typed="paint it\nblue\nexit\n")

    assert first == "I was told user: I am Ann."
    assert "Which colour do you want?" in painted
    assert "assistant: Which colour do you want? / user: blue" in painted


def test_a_key_opens_what_its_scopes_allow(server: EmbeddedServer, folder: Path) -> None:
    def door(key: str) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0)

    with door("tw_wrong") as stranger, pytest.raises(openai.AuthenticationError) as unknown:
        stranger.models.list()
    with door(key_of(folder, RUNS_READ)) as reader:
        names = [model.id for model in reader.models.list()]
        with pytest.raises(openai.PermissionDeniedError) as forbidden:
            reader.responses.create(model="recall", input="hello")

    assert (unknown.value.code, unknown.value.type) == ("invalid_api_key", "authentication_error")
    assert names == ["recall", "clerk", "painter"]
    assert forbidden.value.code == "forbidden"
