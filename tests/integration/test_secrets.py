"""Secrets of an installation are in none of what it writes, logs or tells, whoever quotes them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.support.client_views import present

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, OpenAIGPTConfig, StatusCode, Task, ToolMessage
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.observability.logs import configure_logging
from turnwise.processes.settings import load_settings
from turnwise.testing.fake_llm.answer import Answer, ScriptedFault
from turnwise.testing.fake_llm.server import FakeLLMServer

API_KEY = "sk-planted-0123456789abcdef"
TOKEN = "planted/auth\\token'17\""
BROKER_PASSWORD = "planted-broker-password"
WIRE_KEY = "planted-wire-key-0123456789abcdef0"
HEADER = "planted-header-value"
PLANTED = (API_KEY, TOKEN, BROKER_PASSWORD, WIRE_KEY, HEADER)


class Leak(ToolMessage):
    request: str = "leak"
    purpose: str = "To fail with everything that it knows."

    def handle(self) -> str:
        raise RuntimeError(f"cannot sign in with {TOKEN} or {WIRE_KEY} at amqp://app:{BROKER_PASSWORD}@mq:5672//")


def _app(base_url: str) -> App:
    app = App("leaky")

    @app.task
    def model() -> Task:
        llm = OpenAIGPTConfig(chat_model="m", api_base=base_url, headers={"X-Api-Key": HEADER})
        return Task(ChatAgent(ChatAgentConfig(name="model", llm=llm)), interactive=False)

    @app.task
    def tool() -> Task:
        agent = ChatAgent(ChatAgentConfig(name="tool", llm=MockLMConfig(default_response='{"request": "leak"}')))
        agent.enable_message(Leak)
        return Task(agent, interactive=False)

    @app.task
    def rule() -> Task:
        class Broken(Task):
            def done(self, *_: object, **__: object) -> tuple[bool, StatusCode]:
                raise ValueError(f"Authorization: Bearer {TOKEN}; {HEADER}")

        return Broken(ChatAgent(ChatAgentConfig(name="rule", llm=MockLMConfig())), interactive=False)

    return app


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logging("json", "DEBUG", stream)
    yield stream
    root.handlers[:], root.level = before, level


def test_planted_secrets_are_found_nowhere(tmp_path: Path, log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    # given an installation whose model, tool and rule quote what they were given
    monkeypatch.setenv("OPENAI_API_KEY", API_KEY)
    refusal = ScriptedFault(status=401, message=f"Incorrect API key provided: {API_KEY}, with header {HEADER}")
    settings = load_settings(
        database_url=f"sqlite:///{tmp_path / 'runs.db'}",
        bind="127.0.0.1:0",
        auth="token",
        auth_token=TOKEN,
        broker_url=f"amqp://app:{BROKER_PASSWORD}@mq:5672//",
        wire_keys=[WIRE_KEY],
    )
    with (
        FakeLLMServer(lambda _request: Answer(fault=refusal)) as provider,
        EmbeddedServer(settings, _app(provider.base_url)) as server,
        Client(server.url, token=TOKEN) as client,
    ):
        # when
        runs = [client.submit(task, "hello", wait=60) for task in ("model", "tool", "rule")]
        logging.getLogger("tests").error("here is %s", TOKEN, extra={"url": settings.broker_url, "key": WIRE_KEY})
        try:
            raise ValueError(API_KEY)
        except ValueError:
            logging.getLogger("tests").exception("it failed")
        told = _everything(server.url, [str(run.id) for run in runs])

    # then
    assert [run.status for run in runs] == ["failed"] * 3
    messages = [str(present(run.error)["message"]) for run in runs]
    assert all("***" in message for message in messages), messages
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"run.failed" in kept
    for secret in PLANTED:
        forms = {secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret)[1:-1])[1:-1]}
        for form in forms:
            assert form not in log.getvalue()
            assert form not in told
            assert form.encode() not in kept
    assert "here is ***" in log.getvalue()


def _everything(url: str, runs: list[str]) -> str:
    paths = ["/v1/runs", "/v1/inbox", "/v1/tasks", "/v1/workers", "/v1/queues", "/metrics", "/openapi.json", "/nowhere"]
    for run in runs:
        paths += [f"/v1/runs/{run}", f"/v1/runs/{run}/events", f"/v1/runs/{run}/transcript"]
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx2.Client(base_url=url, headers=headers, timeout=30) as http:
        return "\n".join(http.get(path).text for path in paths)
