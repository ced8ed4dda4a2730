"""An answer that streams reaches those who watch, over each bus, also when they come in the middle of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.contract.brokers import broker
from tests.e2e.waiting import until
from tests.support.gateway_parts import served
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task
from turnwise.bus.base import Bus
from turnwise.bus.celery_bus import CeleryBus
from turnwise.bus.envelope import Notice, TextNotice
from turnwise.bus.in_process import InProcessBus
from turnwise.cli.text.messages import as_json
from turnwise.client import Client
from turnwise.models.base import LLMMessage, LLMResponse, StreamEventType, TokenSink, ToolChoice
from turnwise.models.mock import MockLM

KINDS = [
    "in-process",
    pytest.param("rabbitmq", marks=pytest.mark.rabbitmq),
    pytest.param("redis", marks=pytest.mark.redis),
]
UNSEEN = "Nobody was there. "
WORDS = [f"word{n} " for n in range(200)]


class Writer(MockLM):
    """Writes a few words, and the others once somebody watches."""

    def __init__(self) -> None:
        super().__init__(MockLMConfig(stream=True))
        self.begun, self.watched = threading.Event(), threading.Event()

    def answer(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None = None,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        assert on_token is not None
        on_token(UNSEEN, StreamEventType.TEXT)
        self.begun.set()
        assert self.watched.wait(60)
        for word in WORDS:
            on_token(word, StreamEventType.TEXT)
            threading.Event().wait(0.005)
        return LLMResponse(message="DONE " + UNSEEN + "".join(WORDS), model="mock")


def _app(writer: Writer) -> App:
    app = App("tests", version="7")

    @app.task
    def desk() -> Task:
        agent = ChatAgent(ChatAgentConfig(name="desk", llm=writer.config))
        agent.llm = writer
        return Task(agent, name="desk", interactive=False)

    return app


def _counting(bus: Bus, told: list[Notice]) -> None:
    tell = bus.tell

    def count(listener: str, notice: Notice) -> None:
        if isinstance(notice, TextNotice):
            told.append(notice)
        tell(listener, notice)

    bus.tell = count  # type: ignore[method-assign]


@pytest.mark.parametrize("kind", KINDS)
def test_a_watcher_who_comes_in_the_middle_of_an_answer_gets_the_rest_as_it_grows(kind: str, tmp_path: Path) -> None:
    if kind == "in-process":
        bus = InProcessBus()
        _play(tmp_path, bus, bus)
    else:
        with broker(kind) as url:
            _play(tmp_path, CeleryBus(url), CeleryBus(url))


def _play(folder: Path, for_gateway: Bus, for_worker: Bus) -> None:
    writer = Writer()
    told: list[Notice] = []
    events: list[Any] = []
    _counting(for_worker, told)
    with (
        served(folder, bus=for_gateway) as gateway,
        Client(gateway.base_url) as client,
        Desk(gateway.store, _app(writer), bus=for_worker) as desk,
    ):
        run = desk.submit("desk")
        working = threading.Thread(target=desk.go_on, args=(run,))
        working.start()
        assert writer.begun.wait(60)

        watching = threading.Thread(target=lambda: events.extend(map(as_json, client.events(run))))
        watching.start()
        until(lambda: bool(desk.responders.watched.listeners(run)), "the worker to hear that the run is watched")
        writer.watched.set()

        working.join(60)
        watching.join(60)

    deltas = [event for event in events if event["type"] == "llm.delta"]
    assert "".join(delta["text"] for delta in deltas) == "".join(WORDS)
    assert deltas[0]["offset"] == len(UNSEEN)
    assert events[-1]["type"] == "run.completed"
    # Each batch of 50 ms is one message: far fewer than words, and nothing was sent before somebody watched.
    assert len(told) == len(deltas) < len(WORDS) / 2
    last = max(place for place, event in enumerate(events) if event["type"] == "llm.delta")
    whole = [place for place, event in enumerate(events) if UNSEEN in str(event.get("data"))]
    assert whole and last < min(whole)
