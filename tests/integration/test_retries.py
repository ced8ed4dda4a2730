"""Calls that failed are made again, over real HTTP: in a script where they are, served by whoever is free then."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import BaseModel, SecretStr
from tests.e2e.waiting import until
from tests.support.kept_values import kept
from tests.support.served_parts import Desk
from tests.support.store_parts import new_worker

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    ErrorKind,
    MockLMConfig,
    OpenAIGPTConfig,
    RetryPolicy,
    StatusCode,
    Task,
    ToolMessage,
)
from turnwise.bus.envelope import Notice, TextNotice
from turnwise.errors import CallTimeoutError, ModelRateLimitError, ModelRequestError, ModelUnavailableError
from turnwise.models.base import LLMResponse
from turnwise.record.database.schema import asks
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import RunRecord
from turnwise.testing.fake_llm.answer import Answer, ScriptedFault
from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.server import FakeLLMServer

QUICK = RetryPolicy(tries=3, rate_limit_tries=4, first_wait=0.01, longest_wait=0.05)
HOURS = 3_600.0
FAILING: dict[str, Any] = {
    "rate limit": ScriptedFault(status=429, retry_after=0.01),
    "unavailable": ScriptedFault(status=503),
    "broken": "disconnect",
}


class Model:
    """Fails so many times, then answers; what it was sent each time is kept."""

    def __init__(self, fault: Any, times: int) -> None:
        self.fault, self.left = fault, times
        self.prompts: list[list[Any]] = []

    def __call__(self, request: ChatRequest) -> Answer:
        self.prompts.append([(message.get("role"), message.get("content")) for message in request.messages])
        if self.left:
            self.left -= 1
            return Answer(content="half an answer", fault=self.fault)
        return Answer(content="DONE here")


@pytest.fixture
def serving() -> Iterator[Callable[[Any], FakeLLMServer]]:
    servers: list[FakeLLMServer] = []

    def serve(answerer: Any) -> FakeLLMServer:
        server = FakeLLMServer(answerer)
        server.start()
        servers.append(server)
        return server

    yield serve
    for server in servers:
        server.stop()


def agent_of(server: FakeLLMServer, *, retry: RetryPolicy = QUICK, stream: bool = False, **more: Any) -> ChatAgent:
    llm = OpenAIGPTConfig(api_base=server.base_url, api_key=SecretStr("k"), stream=stream, timeout=30)
    return ChatAgent(ChatAgentConfig(name="desk", llm=llm, retry=retry, **more))


def app_of(make: Callable[[], ChatAgent]) -> App:
    app = App("tests")

    @app.task
    def desk() -> Task:
        return Task(make(), interactive=False)

    return app


def ended(desk: Desk, run_id: str) -> RunRecord:
    """The run, moved and answered until it has ended; while it waits for a try, its permit is offered again."""
    permit: Any = None
    moved = desk.coordinator.move(run_id)
    while not moved.run.ended:
        permit = moved.ask or permit
        until(partial(desk.responders.answer, permit), "the next try to be due")
        moved = desk.coordinator.move(run_id)
    return moved.run


def deferrals(desk: Desk, run_id: str) -> list[Any]:
    return [event.data for event in desk.store.inspector.events(run_id) if event.type == "ask.deferred"]


# --- in a script ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("fault", FAILING)
def test_a_failed_call_is_made_again_in_its_place(serving: Any, fault: str, awaited: bool, stream: bool) -> None:
    model = Model(FAILING[fault], times=2)
    agent = agent_of(serving(model), stream=stream)
    task = Task(agent, interactive=False)

    result = asyncio.run(task.run_async("hello")) if awaited else task.run("hello")

    assert result is not None
    assert (result.content.strip(), len(model.prompts)) == ("here", 3)
    # A failed try has left nothing behind.
    assert model.prompts[0] == model.prompts[1] == model.prompts[2]
    assert [message.content for message in agent.message_history[1:]] == ["hello", "DONE here"]


@pytest.mark.parametrize(("fault", "tries"), [("rate limit", 4), ("unavailable", 3)])
def test_the_last_error_is_raised_after_the_last_try(serving: Any, fault: str, tries: int) -> None:
    model = Model(FAILING[fault], times=100)
    with pytest.raises((ModelRateLimitError, ModelUnavailableError)):
        Task(agent_of(serving(model)), interactive=False).run("hello")
    # The library's own retries, which nobody would record, are off.
    assert len(model.prompts) == tries


def test_a_request_that_is_refused_is_not_made_again(serving: Any) -> None:
    model = Model(ScriptedFault(status=400), times=100)
    with pytest.raises(ModelRequestError):
        Task(agent_of(serving(model)), interactive=False).run("hello")
    assert len(model.prompts) == 1


def test_an_answer_that_takes_too_long_is_asked_for_again(serving: Any) -> None:
    asked: list[ChatRequest] = []

    def slow_at_first(request: ChatRequest) -> Answer:
        asked.append(request)
        return Answer(content="DONE here", delay=HOURS if len(asked) == 1 else 0)

    agent = agent_of(serving(slow_at_first), answer_timeout=0.5)
    result = Task(agent, interactive=False).run("hello")
    assert result is not None
    assert (result.content.strip(), len(asked)) == ("here", 2)


def test_a_wait_for_the_next_try_ends_with_the_run(serving: Any) -> None:
    model = Model(ScriptedFault(status=503), times=100)
    patient = RetryPolicy(first_wait=HOURS, longest_wait=HOURS)
    result = Task(agent_of(serving(model), retry=patient), interactive=False).run("hello", max_time=0.5)
    assert result is not None
    assert (result.metadata.status, len(model.prompts)) == (StatusCode.TIMEOUT, 1)


def test_a_refusal_is_an_answer_unless_the_policy_covers_it() -> None:
    said: Iterator[str | LLMResponse] = iter([LLMResponse(message="I can't help.", refused=True), "DONE well"])
    config = MockLMConfig(response_fn=lambda _: next(said))
    policy = QUICK.model_copy(update={"kinds": frozenset({ErrorKind.REFUSED})})
    result = Task(ChatAgent(ChatAgentConfig(llm=config, retry=policy)), interactive=False).run("hello")
    assert result is not None
    assert result.content.strip() == "well"

    always = MockLMConfig(response_fn=lambda _: LLMResponse(message="I can't help.", refused=True))
    for retry in (RetryPolicy(), policy):
        task = Task(ChatAgent(ChatAgentConfig(llm=always, retry=retry)), interactive=False, single_round=True)
        result = task.run("hello")
        assert result is not None
        assert result.content == "I can't help."


class Fetch(ToolMessage):
    request: str = "fetch"
    purpose: str = "To fetch something."
    _retry = QUICK


class Fetcher(ChatAgent):
    """Its handler fails so many times."""

    failing = 0
    called = 0

    def fetch(self, _tool: Fetch) -> str:
        type(self).called += 1
        if self.called <= self.failing:
            raise OSError("the line is busy")
        return "fetched"


def fetching(failing: int, *, tool: type[ToolMessage] = Fetch) -> type[Fetcher]:
    return type("Failing", (Fetcher,), {"failing": failing, "called": 0, "tool": tool})


def fetcher(kind: type[Fetcher]) -> ChatAgent:
    model = MockLMConfig(response_fn=lambda said: '{"request": "fetch"}' if said == "hello" else f"DONE {said}")
    agent = kind(ChatAgentConfig(name="desk", llm=model))
    agent.enable_message(Fetch)
    return agent


def test_a_handler_is_called_as_often_as_its_tool_allows() -> None:
    kind = fetching(2)
    result = Task(fetcher(kind), interactive=False).run("hello")
    assert result is not None
    assert (result.content.strip(), kind.called) == ("fetched", 3)

    failing = fetching(100)
    with pytest.raises(OSError, match="busy"):
        Task(fetcher(failing), interactive=False).run("hello")
    assert failing.called == 3


class Slow(ToolMessage):
    request: str = "slow"
    purpose: str = "To take long."
    _timeout = 0.2


@pytest.mark.parametrize("awaited", [False, True])
def test_a_handler_may_take_so_long_as_its_tool_says(awaited: bool) -> None:
    class Sleeper(ChatAgent):
        async def slow(self, _tool: Slow) -> str:
            await asyncio.sleep(HOURS)
            return "never"

    agent = Sleeper(ChatAgentConfig(name="desk", llm=None))
    agent.enable_message(Slow)
    task = Task(agent, interactive=False)
    with pytest.raises(CallTimeoutError, match=r"the handler of the tool 'slow' took longer than 0\.2 s"):
        asyncio.run(task.run_async(Slow())) if awaited else task.run(Slow())


# --- served ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAILING)
def test_a_served_ask_is_put_off_and_tried_again(serving: Any, store: Store, fault: str) -> None:
    model = Model(FAILING[fault], times=2)
    server = serving(model)
    with Desk(store, app_of(lambda: agent_of(server))) as desk:
        run = ended(desk, desk.submit("desk"))

        assert (run.status, len(model.prompts)) == ("completed", 3)
        assert model.prompts[0] == model.prompts[1] == model.prompts[2]
        put_off = deferrals(desk, run.id)
        assert [data["attempt"] for data in put_off] == [1, 2]
        assert {data["error"]["kind"] for data in put_off} == {"rate_limit" if fault == "rate limit" else "unavailable"}
        assert all(data["waiting_for"]["kind"] == "retry" and data["wait"] >= 0 for data in put_off)
        assert put_off[0]["waiting_for"]["agent"] == "desk"


def test_after_the_last_try_the_run_ends_with_the_error(serving: Any, store: Store) -> None:
    model = Model(ScriptedFault(status=503), times=100)
    server = serving(model)
    with Desk(store, app_of(lambda: agent_of(server))) as desk:
        run = ended(desk, desk.submit("desk"))

        assert (run.status, run.status_code, len(model.prompts)) == ("failed", "ERROR", 3)
        assert run.error is not None
        assert (run.error.code, run.error.kind) == ("model_unavailable", "unavailable")


def test_nobody_waits_for_the_next_try_and_a_new_process_goes_on_counting(serving: Any, store: Store) -> None:
    model = Model(ScriptedFault(status=429, retry_after=HOURS), times=100)
    server, other = serving(model), serving(lambda _: Answer(content="DONE here"))
    app = app_of(lambda: agent_of(server))

    @app.task
    def quick() -> Task:
        return Task(agent_of(other), interactive=False)

    with Desk(store, app) as desk:
        run_id = desk.submit("desk")
        assert desk.answer(desk.coordinator.move(run_id))

        # The one thread of this worker is free for another run.
        assert ended(desk, desk.submit("quick")).status == "completed"
        run = store.inspector.run(run_id)
        assert run.status == "waiting"
        assert run.waiting_for is not None
        assert kept(run.waiting_for)["due_at"] - run.created_at >= HOURS

        store.tenant(DEFAULT_TENANT).request_cancel(run_id)
        assert desk.coordinator.move(run_id).run.status_code == "KILL"
        assert len(model.prompts) == 1


def test_tries_are_counted_across_workers_that_are_lost(serving: Any, store: Store) -> None:
    model = Model(ScriptedFault(status=503), times=100)
    server = serving(model)
    app = app_of(lambda: agent_of(server))
    with Desk(store, app) as desk:
        run_id = desk.submit("desk")
        asked = desk.coordinator.move(run_id)
        assert desk.answer(asked)
        assert asked.ask is not None
        envelope = asked.ask
        worker = new_worker(store, envelope.queue)
        # A worker claims the second try, and is killed with it.
        claimed = until(lambda: store.worker.claim(envelope.queue, worker), "the second try to be due")
        assert claimed.ask.failures == {"unavailable": 1}
        store.coordinator.take_over_all()
    with Desk(store, app, beside=desk) as again:
        until(lambda: again.responders.answer(envelope), "the second try to be due")
        until(lambda: again.responders.answer(envelope), "the third try to be due")
        run = again.coordinator.move(run_id).run

        assert (run.status, len(model.prompts)) == ("failed", 3)


def test_a_served_handler_is_tried_again_later(store: Store) -> None:
    kind = fetching(2)
    with Desk(store, app_of(lambda: fetcher(kind)), moves="coordinator") as desk:
        run = ended(desk, desk.submit("desk"))

        assert (run.status, kind.called) == ("completed", 3)
        assert [data["error"]["tool"] for data in deferrals(desk, run.id)] == ["fetch", "fetch"]


class Count(ToolMessage):
    request: str = "count"
    purpose: str = "To count how often it is called."


class Peek(Count):
    request: str = "peek"
    _effect = "read_only"


class Grab(Fetch):
    request: str = "grab"
    _handler = "fetch"
    _effect = "idempotent"


class FetchLater(Grab):
    request: str = "fetch_later"
    _retry = RetryPolicy(tries=3, first_wait=HOURS, longest_wait=HOURS)


class Counting(Fetcher):
    """Its first handler counts its calls, in its state, too; the second one changes its agent, and fails."""

    class State(BaseModel):
        seen: int = 0

    counted = 0

    def count(self, _tool: ToolMessage) -> str:
        type(self).counted += 1
        self.state.seen += 1
        return f"counted {self.counted}"

    peek = count

    def fetch(self, tool: Fetch) -> str:
        self.state.seen += 10
        self.set_system_message(f"{self.state.seen}")
        return super().fetch(tool)


def counting_app(kind: type[Counting], first: str, second: str) -> App:
    def agent() -> ChatAgent:
        both = f'{{"request": "{first}"}} {{"request": "{second}"}}'
        model = MockLMConfig(response_fn=lambda said: both if said == "hello" else f"DONE {said}")
        made = kind(ChatAgentConfig(name="desk", llm=model))
        made.enable_message([Count, Peek, Fetch, Grab, FetchLater])
        return made

    return app_of(agent)


def counting(failing: int) -> type[Counting]:
    return type("FailingCounting", (Counting,), {"failing": failing, "called": 0, "counted": 0})


@pytest.mark.parametrize("second", ["fetch", "grab"])
@pytest.mark.parametrize("first", ["count", "peek"])
def test_a_handler_that_is_tried_again_later_repeats_none_before_it(store: Store, first: str, second: str) -> None:
    kind = counting(2)
    with Desk(store, counting_app(kind, first, second), moves="coordinator") as desk:
        run = ended(desk, desk.submit("desk"))

        assert (run.status, kind.called, kind.counted) == ("completed", 3, 1)
        assert [data["attempt"] for data in deferrals(desk, run.id)] == [1, 2]
        assert run.result is not None
        assert "counted 1" in run.result["content"]
        assert "fetched" in run.result["content"]
        with store.coordinator.locked(run.id) as transaction:
            agent = transaction.agent("desk")
        # Neither of the tries that failed has left anything.
        assert (agent.state, (agent.record or {})["system_message"]) == ({"seen": 11}, "11")


@pytest.mark.parametrize("first", ["count", "peek"])
def test_nobody_waits_for_a_later_handler_and_a_new_process_goes_on_with_its_count(store: Store, first: str) -> None:
    kind = counting(100)
    app = counting_app(kind, first, "fetch_later")

    @app.task
    def quick() -> Task:
        model = MockLMConfig(response_fn=lambda _: "DONE here")
        return Task(ChatAgent(ChatAgentConfig(name="desk", llm=model)), interactive=False)

    with Desk(store, app, moves="coordinator") as desk:
        run_id = desk.submit("desk")
        assert desk.answer(desk.coordinator.move(run_id))
        asked = desk.coordinator.move(run_id)
        assert desk.answer(asked)
        # The one thread of this worker is free for another run.
        assert ended(desk, desk.submit("quick")).status == "completed"
        assert kept(store.inspector.run(run_id).waiting_for)["kind"] == "retry"
    assert asked.ask is not None
    for failed in (1, 2):
        _make_due(store, run_id)
        with store.coordinator.locked(run_id) as transaction:
            ask = transaction.open_ask()
        assert ask is not None
        assert ask.failures == {"fetch_later#2:tool": failed}
        assert [one.call_no for one in store.worker.receipts(run_id, ask.id)] == [1]
        with Desk(store, app, beside=desk, moves="coordinator") as again:
            assert again.responders.answer(asked.ask)
            run = again.coordinator.move(run_id).run

    assert (run.status, kind.called, kind.counted) == ("failed", 3, 1)


def _make_due(store: Store, run_id: str) -> None:
    """As if the wait for the next try were over."""
    with store.coordinator.locked(run_id) as transaction:
        transaction.connection.execute(sa.update(asks).where(asks.c.run_id == run_id).values(due_at=transaction.now))


def test_what_a_handler_asks_another_model_is_tried_again_in_its_place(serving: Any, store: Store) -> None:
    model = Model(ScriptedFault(status=503), times=2)
    server = serving(model)

    class Asking(Fetcher):
        def fetch(self, _tool: Fetch) -> str:
            type(self).called += 1
            answer = agent_of(server).llm_response("hello")
            return answer.content if answer is not None else ""

    with Desk(store, app_of(lambda: fetcher(Asking))) as desk:
        run = ended(desk, desk.submit("desk"))

        assert (run.status, Asking.called, len(model.prompts)) == ("completed", 1, 3)
        assert deferrals(desk, run.id) == []


def test_what_was_streamed_before_a_break_is_void(serving: Any, store: Store) -> None:
    server = serving(Model("disconnect", times=1))
    pieces: list[tuple[int, int]] = []
    with Desk(store, app_of(lambda: agent_of(server, stream=True))) as desk:
        run_id = desk.submit("desk")
        heard: list[Notice] = []
        desk.watch(run_id, heard.append)
        ended(desk, run_id)

        def both() -> bool:
            texts = [piece for notice in heard if isinstance(notice, TextNotice) for piece in notice.pieces]
            pieces[:] = [(piece.attempt, piece.offset) for piece in texts]
            return {attempt for attempt, _ in pieces} == {1, 2}

        until(both, "pieces of both tries")
        assert min(offset for attempt, offset in pieces if attempt == 2) == 0


def test_threads_of_tries_do_not_meet(serving: Any) -> None:
    server = serving(Model(ScriptedFault(status=503), times=6))
    results: list[Any] = []
    patient = QUICK.model_copy(update={"tries": 10})

    def run() -> None:
        results.append(Task(agent_of(server, retry=patient), interactive=False).run("hello"))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [result is not None for result in results] == [True] * 4
