"""A fork with another model is charged by that model's price; without one it does not run under a limit of cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.support.either_database import database, postgres_url
from tests.support.gateway_parts import Served, served
from tests.support.raw_model import completion, raw_model
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task
from turnwise.base.ids import new_id
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import NewFork

__all__ = ["database", "postgres_url"]


class Calls:
    """The models that were called, in order, by a desk behind a gateway."""

    def __init__(self, desk: Desk, gateway: Served, models: list[str]) -> None:
        self.desk, self.gateway, self.models = desk, gateway, models

    def fork(self, run: str, **body: Any) -> Any:
        """The answer to a request for a fork."""
        return self.gateway.http.post(f"/v1/runs/{run}/fork", json={"at": 1} | body)


@pytest.fixture
def calls(database: Database, tmp_path: Path) -> Iterator[Calls]:
    with _calls(database, tmp_path) as made:
        yield made


@contextmanager
def _calls(database: Database, directory: Path, **settings: Any) -> Iterator[Calls]:
    models: list[str] = []

    def answer(asked: dict[str, Any]) -> Any:
        models.append(asked["model"])
        return completion({"content": "DONE"}, {"prompt_tokens": 10, "completion_tokens": 5})

    with raw_model(answer) as url:
        app = App("tests", version="1")

        @app.task
        def desk() -> Task:
            model = OpenAIGPTConfig(
                chat_model="own",
                api_base=url,
                api_key=SecretStr("k"),
                input_price=Decimal(1),
                output_price=Decimal(2),
                max_output_tokens=50,
                min_output_tokens=10,
            )
            return Task(ChatAgent(ChatAgentConfig(name="desk", llm=model)), interactive=False)

        with (
            Desk(Store(database), app) as served_desk,
            served(directory, database=database, app=app, **settings) as gateway,
        ):
            yield Calls(served_desk, gateway, models)


def test_a_fork_with_a_model_without_a_price_is_refused_under_a_limit_of_cost(calls: Calls) -> None:
    run = calls.desk.go_on(calls.desk.submit("desk", max_cost=Decimal(1)))
    assert (run.status, calls.models) == ("completed", ["own"])

    refused = calls.fork(run.id, model="nobody-knows")

    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_price")
    assert "nobody-knows" in refused.json()["detail"]
    # Its own model has a price, and without a limit nobody asks for one.
    assert calls.desk.go_on(calls.fork(run.id, model="own").json()["id"]).cost == run.cost
    free = calls.desk.go_on(calls.fork(run.id, model="nobody-knows", limits={"max_cost": "0"}).json()["id"])
    assert (free.status, free.unpriced_calls, free.cost) == ("completed", 1, Decimal(0))
    assert calls.models == ["own", "own", "nobody-knows"]


def test_what_only_the_worker_can_see_is_refused_before_the_call(calls: Calls) -> None:
    store = calls.desk.store
    run = calls.desk.go_on(calls.desk.submit("desk", max_cost=Decimal(1)))
    fork, _, _ = store.tenant(DEFAULT_TENANT).fork(
        run.id, NewFork(id=new_id("run"), at=1, version="1", model="nobody-knows")
    )

    ended = calls.desk.go_on(fork.id)

    assert (ended.status_code, ended.calls, ended.cost) == ("MAX_COST", 0, Decimal(0))
    assert calls.models == ["own"]


def test_a_limit_that_a_run_gets_later_holds_for_its_model_too(calls: Calls) -> None:
    store = calls.desk.store
    run = calls.desk.go_on(calls.desk.submit("desk"))
    fork = calls.fork(run.id, model="nobody-knows").json()["id"]
    changed = calls.gateway.http.patch(f"/v1/runs/{fork}", json={"limits": {"max_cost": "1.00"}})
    assert changed.status_code == 200

    assert calls.desk.go_on(fork).status_code == "MAX_COST"
    assert calls.models == ["own"]
    assert store.inspector.run(fork).unpriced_calls == 0


@pytest.mark.parametrize("setting", ["tenant_day_max_cost", "tenant_month_max_cost"])
def test_a_tenant_s_limit_is_one(database: Database, tmp_path: Path, setting: str) -> None:
    with _calls(database, tmp_path, **{setting: Decimal(5)}) as calls:
        run = calls.desk.go_on(calls.desk.submit("desk"))

        assert calls.fork(run.id, model="nobody-knows").json()["code"] == "unknown_price"


@pytest.mark.parametrize("model", ["local/evil.example:80/v1", "llamacpp/169.254.169.254"])
def test_a_fork_can_name_no_server(calls: Calls, model: str) -> None:
    run = calls.desk.go_on(calls.desk.submit("desk"))

    refused = calls.fork(run.id, model=model)

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert model in refused.json()["detail"]
    # One that was made before callers were held to this, or by another process, ends before its model is asked.
    fork, _, _ = calls.desk.store.tenant(DEFAULT_TENANT).fork(
        run.id, NewFork(id=new_id("run"), at=1, version="1", model=model)
    )
    assert calls.desk.go_on(fork.id).status == "failed"
    assert calls.models == ["own"]
