"""Served runs whose calls wait for a batch of their provider, over HTTP, on both databases."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from pydantic import SecretStr
from tests.support.either_database import database, postgres_url
from tests.support.fleet import Fleet
from tests.support.kept_values import kept

from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task, TaskConfig, ToolMessage
from turnwise.base.ids import new_id
from turnwise.record.database.database import Database
from turnwise.record.provider_batches.batches import ProviderBatch
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import NewFork
from turnwise.serving.moves.permits import permit
from turnwise.serving.wait_reason import why_waiting
from turnwise.tasks.tree import build_tree
from turnwise.testing.fake_llm import wire
from turnwise.testing.fake_llm.batch_store import BatchStore
from turnwise.testing.fake_llm.server import FakeLLMServer
from turnwise_responders.batch_work import BatchWork

__all__ = ["database", "postgres_url"]

DAY = 86_400.0
PRICES: dict[str, Any] = {"input_price": Decimal(100), "output_price": Decimal(200)}
FOUR: dict[str, Any] = {"provider_batch_size": 4, "provider_batch_seconds": 600.0}
FAST: dict[str, Any] = {"provider_batch_seconds": 0.2, "provider_batch_poll_seconds": 0.2}
RULES: list[dict[str, Any]] = [
    {"match": "busy", "uses": 1, "fault": {"status": 429}},
    {"match": "wrong", "fault": {"status": 400, "message": "cannot"}},
    {"match": "(.*)", "reply": "DONE you said $1"},
]


@pytest.fixture
def url(database: Database) -> str:
    return database.url.render_as_string(hide_password=False)


class PayTool(ToolMessage):
    """Pays back an order."""

    request: str = "pay"
    purpose: str = "pay back the order <n>"
    n: int

    def handle(self) -> str:
        return f"paid {self.n}"


def desk(server: FakeLLMServer, can_wait: float | None = DAY, *, tool: bool = False, **llm: Any) -> App:
    """One agent whose model is the server's; the key is the test's own, and with it the provider."""
    key = SecretStr(new_id("key"))
    app = App("patient", version="1")

    def made(can_wait: float | None) -> Task[Any]:
        config = OpenAIGPTConfig(api_base=server.base_url, api_key=key, max_output_tokens=10, **llm)
        own = ChatAgentConfig(name="desk", llm=config, use_tools=not tool, use_functions_api=tool)
        agent = ChatAgent(own)
        if tool:
            agent.enable_message(PayTool)
        return Task(agent, interactive=False, config=TaskConfig(can_wait=can_wait))

    app.task(name="desk")(lambda: made(can_wait))
    app.task(name="patient")(lambda: made(DAY))
    return app


@contextmanager
def fleet(url: str, app: App, **settings: Any) -> Iterator[Fleet]:
    with Fleet(url, app, processes=2, threads=2, **(FAST | settings)) as made:
        yield made


def unnamed(text: str) -> str:
    """A text with numbers in place of the ids in it, by their order."""
    ids: dict[str, str] = {}
    return re.sub(r"[a-z]+_[0-9a-f]{32}", lambda found: ids.setdefault(found[0], f"id-{len(ids)}"), text)


def said(fleet: Fleet, run: str) -> Any:
    result = fleet.store.inspector.run(run).result
    return None if result is None else result["content"]


def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """Look until something holds of which no event tells."""
    pause, end = threading.Event(), time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        pause.wait(0.05)


def test_calls_of_many_runs_go_in_one_batch_at_half_the_price(url: str) -> None:
    with FakeLLMServer(RULES) as server:
        with fleet(url, desk(server, can_wait=None, **PRICES)) as live:
            (direct,) = live.ended([live.submit("desk", "hello 1")])
        with fleet(url, desk(server, **PRICES), **FOUR) as patient:
            runs = [patient.submit("desk", f"hello {no}") for no in range(4)]
            ended = patient.ended(runs)
            assert [said(patient, run) for run in runs] == [f"you said hello {no}" for no in range(4)]
        stats = server.stats()
    assert (stats["requests"], stats["batches"], stats["lines"]) == (1, 1, 4)
    assert [run.status_code for run in ended] == ["DONE"] * 4
    assert ended[1].cost * 2 == direct.cost > 0
    assert (ended[1].prompt_tokens, ended[1].calls) == (direct.prompt_tokens, direct.calls)


def test_a_conversation_is_the_same_as_with_direct_calls(url: str) -> None:
    rules: list[dict[str, Any]] = [
        {"role": "tool", "reply": "DONE it is refunded"},
        {
            "match": r"refund (\d+)",
            "reply": {"content": "One moment.", "tool_calls": [{"name": "pay", "arguments": {"n": "$1"}}]},
        },
    ]
    seen: list[Any] = []
    for can_wait in (None, DAY):
        with FakeLLMServer(rules) as server:
            app = desk(server, can_wait, tool=True)
            with fleet(url, app) as made:
                (run,) = made.ended([made.submit("desk", "refund 7")])
                events = made.store.inspector.events(run.id)
                rows = [row["body"] for row in made.store.inspector.table("histories") if run.id in row.values()]
                talk = json.dumps([made.store.inspector.transcript_documents(run.id), rows])
            sent = [request.model_dump(exclude={"stream", "stream_options"}) for request in server.requests()]
            taken = [(event.type, event.path) for event in events if event.type.startswith(("turn.", "task."))]
            seen.append((run.status_code, taken, unnamed(talk), sent, server.stats()["requests"]))
    direct, batched = seen
    assert (direct[-1], batched[-1]) == (2, 0)
    assert batched[0] == "DONE"
    assert batched[:4] == direct[:4]


def test_what_a_batch_did_not_answer_is_tried_in_the_next_and_then_directly(url: str) -> None:
    with FakeLLMServer(RULES, batches={"ends": ["failed", "expired"]}) as server:
        with fleet(url, desk(server), **(FOUR | {"provider_batch_size": 2})) as made:
            runs = made.ended([made.submit("desk", "one"), made.submit("desk", "two")])
            assert [said(made, run.id) for run in runs] == ["you said one", "you said two"]
        stats = server.stats()
    # The expired batch has answered its first half.
    assert (stats["requests"], stats["batches"], stats["lines"]) == (1, 2, 1)


def test_an_error_of_a_line_is_tried_again_or_told_as_by_a_direct_call(url: str) -> None:
    with FakeLLMServer(RULES) as server:
        with fleet(url, desk(server)) as made:
            busy, wrong = made.ended([made.submit("desk", "busy"), made.submit("desk", "wrong")])
            assert said(made, busy.id) == "you said busy"
            assert wrong.status == "failed" and kept(wrong.error)["code"] == "model_request"
        stats = server.stats()
    assert (stats["requests"], stats["lines"]) == (1, 3)


@pytest.mark.parametrize(
    "body",
    [None, "oops", {}, {"choices": []}, {"choices": [], "logprob": float("-inf")}, {"error": {"code": 429}}],
)
def test_a_line_without_an_answer_that_can_be_kept_holds_up_no_other_call(
    url: str, body: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = BatchStore.content

    def with_odd_line(store: BatchStore, file_id: str) -> bytes:
        lines = [json.loads(line) for line in whole(store, file_id).splitlines()]
        for line in lines:
            if "you said odd" in json.dumps(line):
                line["response"] = {"status_code": 200, "body": body}
        return "".join(f"{json.dumps(line)}\n" for line in lines).encode()

    monkeypatch.setattr(BatchStore, "content", with_odd_line)
    texts = ["one", "odd", "two", "three", "four", "five"]
    with FakeLLMServer(RULES) as server:
        with fleet(url, desk(server), provider_batch_size=3) as made:
            runs = made.ended([made.submit("desk", text) for text in texts])
            assert [said(made, run.id) for run in runs] == [f"you said {text}" for text in texts]
        stats = server.stats()
    # The odd call is in two batches, and then made directly.
    assert (stats["requests"], stats["lines"]) == (1, 7)


def test_a_batch_whose_work_fails_leaves_the_others_alone(
    url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, failed = BatchWork.follow, threading.Event()

    def failing_once(work: BatchWork, batch: ProviderBatch) -> None:
        if not failed.is_set():
            failed.set()
            raise RuntimeError("a fault of its own")
        look(work, batch)

    monkeypatch.setattr(BatchWork, "follow", failing_once)
    with FakeLLMServer(RULES) as server, fleet(url, desk(server)) as made:
        (run,) = made.ended([made.submit("desk", "hello")])
        assert said(made, run.id) == "you said hello"
        assert server.stats()["requests"] == 0
    actions = [getattr(line, "action", "") for line in caplog.records]
    assert actions.count("provider_batch_failed") == 1
    assert "provider_batches_crashed" not in actions


def test_a_call_whose_time_is_over_is_made_directly_and_the_batch_s_answer_only_counted(url: str) -> None:
    with (
        FakeLLMServer(RULES, batches={"delay": 8.0}) as server,
        fleet(url, desk(server, can_wait=5.0, **PRICES), **(FOUR | {"provider_batch_size": 2})) as made,
    ):
        made.submit("patient", "other")  # which keeps the batch from being cancelled
        (run,) = made.ended([made.submit("desk", "late", max_cost=Decimal(5))])
        assert said(made, run.id) == "you said late"
        assert server.stats()["requests"] == 1 and server.stats()["batches"] == 1
        direct = run.cost

        def counted() -> bool:
            return made.store.inspector.run(run.id).cost == direct * 3 / 2

        wait_until(counted)
        after = made.store.inspector.run(run.id)
    assert (after.reserved_cost, after.reserved_tokens, after.calls) == (Decimal(0), 0, 2)


def test_a_waiting_run_says_so_holds_half_the_price_and_can_be_cancelled(url: str) -> None:
    with FakeLLMServer(RULES, batches={"delay": 600.0}) as server:
        app = desk(server, **PRICES)
        with fleet(url, app) as made:
            others = made.store.worker.provider_batches.batching_providers()  # of other tests, in the same database
            run = made.submit("desk", "hello", max_cost=Decimal(5))

            def why() -> Any:
                return why_waiting(made.store.inspector.situation(run))

            wait_until(lambda: (cause := why()) is not None and cause.facts.get("submitted_at") is not None)
            cause = why()
            assert cause.kind == "provider_batch"
            assert "waits for a batch of its provider, submitted at" in cause.sentence
            assert "when the model is called directly" in cause.sentence
            held = made.store.inspector.run(run)
            assert held.status == "waiting"
            # 10 tokens of the answer, and the prompt: half of what a direct call would reserve.
            (reserved,) = [event for event in made.store.inspector.events(run) if event.type == "usage.reserved"]
            assert reserved.data is not None
            prompt = reserved.data["tokens"] - 10
            assert held.reserved_cost == (prompt * 100 + 10 * 200) / Decimal(2_000_000)
            made.store.tenant(DEFAULT_TENANT).request_cancel(run)
            made.bus.wake(run)
            (ended,) = made.ended([run])
            assert ended.status == "cancelled"
            # No ask waits for it, so the provider is told to end it.
            wait_until(lambda: made.store.worker.provider_batches.batching_providers().keys() <= others.keys())
            after = made.store.inspector.run(run)
        assert (after.reserved_cost, after.calls) == (Decimal(0), 0)
        assert server.stats()["lines"] == 0


def test_a_usage_that_cannot_be_true_is_charged_as_reserved_for_the_batch(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "usage", lambda request, message: {"prompt_tokens": 10**12, "completion_tokens": 5})
    with FakeLLMServer(RULES) as server, fleet(url, desk(server, min_output_tokens=1, **PRICES)) as made:
        (whole,) = made.ended([made.submit("desk", "hello", max_cost=Decimal(5))])
        prompt = whole.prompt_tokens
        most = (prompt * 100 + 5 * 200) / Decimal(2_000_000)  # half of the price, with half of the longest answer
        (cut,) = made.ended([made.submit("desk", "hello", max_cost=most)])
        (free,) = made.ended([made.submit("desk", "hello")])
        settled = [event for event in made.store.inspector.events(cut.id) if event.type == "usage.settled"]
        assert server.stats()["requests"] == 0
    assert [run.status_code for run in (whole, cut, free)] == ["DONE"] * 3
    assert whole.cost == free.cost == (prompt * 100 + 10 * 200) / Decimal(2_000_000)
    assert (cut.cost, cut.prompt_tokens, cut.completion_tokens) == (most, prompt, 5)
    assert ["not a number" in (event.data or {})["doubt"] for event in settled] == [True]


def test_another_process_sends_what_was_collected_for_a_model_that_only_a_fork_names(url: str) -> None:
    queue = new_id("q")
    with FakeLLMServer(RULES) as server:
        app = desk(server)
        with fleet(url, app, queue=queue, provider_batch_seconds=DAY) as made:
            (origin,) = made.ended([made.submit("desk", "hello", can_wait=0.0)])
            asked = next(event.seq for event in made.store.inspector.events(origin.id) if event.type == "turn.asked")
            new = NewFork(id=new_id("run"), at=asked, version="1", model="gpt-4o-mini", can_wait=DAY)
            fork, ask, _ = made.store.tenant(DEFAULT_TENANT).fork(origin.id, new)
            assert ask is not None
            made.bus.publish_ask(permit(ask))
            wait_until(lambda: made.store.inspector.run(fork.id).status == "waiting")
        with fleet(url, app, queue=queue) as later:
            (ended,) = later.ended([fork.id])
            assert said(later, ended.id) == "you said hello"
        assert (server.stats()["requests"], server.stats()["lines"]) == (1, 1)


def test_a_run_says_itself_whether_its_calls_can_wait(url: str) -> None:
    with FakeLLMServer(RULES) as server:
        with fleet(url, desk(server, can_wait=None)) as made:
            made.ended([made.submit("desk", "one", can_wait=DAY), made.submit("patient", "two", can_wait=0.0)])
        assert (server.stats()["lines"], server.stats()["requests"]) == (1, 1)


def test_a_sub_task_waits_as_its_caller_does_unless_it_says_otherwise() -> None:
    def task(name: str, can_wait: float | None, *below: Task[Any]) -> Task[Any]:
        made = Task(ChatAgent(ChatAgentConfig(name=name)), interactive=False, config=TaskConfig(can_wait=can_wait))
        made.add_sub_task(list(below))
        return made

    tree = build_tree(task("lead", DAY, task("helper", None), task("hasty", 0.0, task("hand", None))))
    assert {path: tree.can_wait(path) for path in tree.tasks} == {
        "lead": DAY,
        "lead/helper": DAY,
        "lead/hasty": 0.0,
        "lead/hasty/hand": 0.0,
    }
    assert build_tree(task("lead", None)).can_wait("lead") is None


def test_a_provider_without_batches_is_called_directly(url: str) -> None:
    with FakeLLMServer(RULES, batches={"offered": False}) as server:
        with fleet(url, desk(server)) as made:
            (run,) = made.ended([made.submit("desk", "hello")])
            assert said(made, run.id) == "you said hello"
        assert server.stats()["requests"] == 1
