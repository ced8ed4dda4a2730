"""Served runs against a provider with limits: workers that do not know of each other share them."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr
from tests.support.either_database import database, postgres_url
from tests.support.fleet import Fleet
from tests.support.kept_values import kept

from turnwise import App, ChatAgent, ChatAgentConfig, ChatDocument, OpenAIGPTConfig, Task, ToolMessage
from turnwise.base.ids import new_id
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database
from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.server import FakeLLMServer
from turnwise_gateway.api import create_api
from turnwise_gateway.server import GatewayThread

__all__ = ["database", "postgres_url"]

# Many more than have a place, so that asks which are claimed in vain would show.
_MANY = 100
RULES: list[dict[str, Any]] = [{"match": "slow", "reply": "DONE slow", "delay": 0.05}, {"reply": "DONE quick"}]


@pytest.fixture
def url(database: Database) -> str:
    return database.url.render_as_string(hide_password=False)


class Critic(ChatAgent):
    """Drafts, and improves the draft: two calls of its model for one answer."""

    async def llm_response_async(self, message: Any = None) -> ChatDocument | None:
        draft = await super().llm_response_async(message)
        assert draft is not None
        return await super().llm_response_async("Improve: " + draft.content)


def desk(server: FakeLLMServer, of: type[ChatAgent] = ChatAgent, **limits: Any) -> App:
    """One agent whose model is the server's; the key is the test's own, and with it the bucket."""
    key = SecretStr(new_id("key"))
    app = App("limits", version="1")

    @app.task
    def desk() -> Task[Any]:
        llm = OpenAIGPTConfig(api_base=server.base_url, api_key=key, max_output_tokens=10, **limits)
        return Task(of(ChatAgentConfig(name="desk", llm=llm)), interactive=False, single_round=of is Critic)

    return app


def claims(fleet: Fleet, run: str) -> int:
    """Return the number of claims of the run's ask: one, and one more after each deferral."""
    return 1 + sum(event.type == "ask.deferred" for event in fleet.store.inspector.events(run))


def over_http(fleet: Fleet, app: App, run: str) -> Any:
    """The run as a gateway shows it."""
    api = create_api(fleet.store, fleet.bus, app, load_settings())
    with GatewayThread(api, port=0) as gateway, httpx2.Client(base_url=gateway.base_url, timeout=30) as http:
        return http.get(f"/v1/runs/{run}").raise_for_status().json()


def test_many_runs_on_many_workers_keep_to_configured_limits(url: str) -> None:
    # The server's window is shorter than ours by more than a busy machine delays a call.
    with FakeLLMServer(RULES, limits={"requests": 10, "concurrency": 4, "window": 0.5}) as server:
        app = desk(server, requests_per_minute=10, max_concurrency=4, limit_window=2.0)
        with Fleet(url, app) as fleet:
            runs = fleet.ended([fleet.submit("desk", "slow") for _ in range(30)])
        assert {run.status for run in runs} == {"completed"}
        stats = server.stats()
        assert (stats["requests"], stats["rate_limited"]) == (30, 0)
        assert stats["max_in_flight"] <= 4


def test_an_ask_is_claimed_about_once_for_each_call_however_many_wait(url: str) -> None:
    with FakeLLMServer(RULES) as server:
        app = desk(server, max_concurrency=3)
        with Fleet(url, app) as fleet:
            runs = fleet.ended([fleet.submit("desk", "slow") for _ in range(_MANY)], seconds=100)
            most = [claims(fleet, run.id) for run in runs]
        assert server.stats()["max_in_flight"] <= 3
        assert server.stats()["requests"] == _MANY
        # Put off once, when nobody knew yet that it has to wait, and claimed with its place.
        assert max(most) <= 3
        assert sum(most) <= 2.2 * _MANY


@pytest.mark.parametrize(
    ("limits", "runs"), [({"max_concurrency": 1}, 6), ({"requests_per_minute": 1, "limit_window": 1.0}, 2)]
)
def test_an_answer_of_two_calls_pays_each_of_them_once(url: str, limits: dict[str, Any], runs: int) -> None:
    with FakeLLMServer(RULES) as server:
        with Fleet(url, desk(server, Critic, **limits)) as fleet:
            ended = fleet.ended([fleet.submit("desk", "slow") for _ in range(runs)])
        assert {(run.status, run.calls) for run in ended} == {("completed", 2)}
        assert server.stats()["requests"] == 2 * runs


def test_a_waiting_run_says_what_for_and_holds_no_worker(url: str) -> None:
    with FakeLLMServer(RULES) as server:
        app = desk(server, requests_per_minute=1, limit_window=600.0)
        with Fleet(url, app, processes=1, threads=1) as fleet:
            fleet.ended([fleet.submit("desk")])
            waits = [fleet.submit("desk") for _ in range(2)]
            assert fleet.until(lambda: all(fleet.store.inspector.run(run).status == "waiting" for run in waits))
            for run in map(fleet.store.inspector.run, waits):
                assert run.waiting_for is not None
                assert {name: kept(run.waiting_for)[name] for name in ("kind", "model", "limit")} == {
                    "kind": "provider",
                    "model": "gpt-4.1-mini",
                    "limit": "requests",
                }
                assert kept(run.waiting_for)["due_at"] > run.created_at
            told = over_http(fleet, app, waits[0])
            assert told["status"] == "waiting"
            assert told["waiting_for"]["kind"] == "provider" and told["waiting_for"]["limit"] == "requests"
            stats = fleet.store.inspector.queue_stats()
            assert [(stat.leased, stat.delayed) for stat in stats if stat.delayed] == [(0, 2)]
        assert server.stats()["requests"] == 1


def test_announced_limits_are_kept_by_all_once_one_has_heard_of_them(url: str) -> None:
    with FakeLLMServer(RULES, limits={"requests": 8, "window": 0.5}) as server:
        app = desk(server, limit_window=2.0)
        with Fleet(url, app) as fleet:
            fleet.ended([fleet.submit("desk")])
            runs = fleet.ended([fleet.submit("desk") for _ in range(24)])
        assert {run.status for run in runs} == {"completed"}
        assert server.stats()["rate_limited"] == 0


class Served:
    """A model that remembers whose messages it answered, one after the other."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, request: ChatRequest) -> str:
        with self._lock:
            self.order.append(request.last)
        return "DONE"


def test_places_go_to_tenants_by_weight_and_not_to_who_came_with_a_flood(url: str) -> None:
    model = Served()
    with FakeLLMServer(model) as server:
        app = desk(server, max_concurrency=1)
        with Fleet(url, app, tenant_weights={"heavy": 3}) as fleet:
            runs = [fleet.submit("desk", "heavy", tenant="heavy") for _ in range(30)]
            runs += [fleet.submit("desk", "light", tenant="light") for _ in range(30)]
            fleet.ended(runs, seconds=100)
    # At first not everybody stands in line yet, at last only the light are left.
    counts = Counter(model.order[10:34])
    assert 15 <= counts["heavy"] <= 21, model.order


class Consult(ToolMessage):
    """Asks a model in its handler."""

    request: str = "consult"
    purpose: str = "To ask an expert."
    _effect = "read_only"


class Boss(ChatAgent):
    """Asks an expert in a handler, who is no part of the team."""

    expert: Any = None

    def consult(self, _: Consult) -> str:
        said = self.expert.run("expert")
        return f"DONE {said.content}" if said is not None else "nothing"


def consulting(app: App, bosses: FakeLLMServer) -> None:
    """Add a task whose handler calls the model of the task `desk`, and whose own model is another server's."""
    expert = app.tree("desk").agents["desk"].config.llm

    @app.task
    def consult() -> Task[Any]:
        boss = Boss(ChatAgentConfig(name="boss", llm=OpenAIGPTConfig(api_base=bosses.base_url, api_key=SecretStr("k"))))
        boss.enable_message(Consult)
        boss.expert = Task(ChatAgent(ChatAgentConfig(name="expert", llm=expert)), interactive=False)
        return Task(boss, interactive=False)


def test_a_call_in_a_handler_gets_its_place_before_those_in_line_who_come_later(url: str) -> None:
    model = Served()
    calls = [{"reply": '{"request": "consult"}'}]
    with FakeLLMServer(model) as server, FakeLLMServer(calls) as bosses:
        app = desk(server, max_concurrency=1)
        consulting(app, bosses)
        with Fleet(url, app) as fleet:
            runs = [fleet.submit("desk", "later") for _ in range(20)]
            runs.append(fleet.submit("consult", priority=5))
            runs += [fleet.submit("desk", "later") for _ in range(100)]
            fleet.ended(runs, seconds=100)
    assert model.order.index("expert") < 60, model.order


def test_a_higher_priority_gets_the_next_place(url: str) -> None:
    model = Served()
    with FakeLLMServer(model) as server:
        app = desk(server, max_concurrency=1)
        with Fleet(url, app) as fleet:
            runs = [fleet.submit("desk", "later") for _ in range(40)]
            runs += [fleet.submit("desk", "now", priority=5) for _ in range(5)]
            fleet.ended(runs, seconds=100)
    last = max(place for place, said in enumerate(model.order) if said == "now")
    assert last < 35, model.order
