"""Two tenants behind one gateway that asks for keys, and an example of a request for each of its operations."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from tests.support.gateway_parts import Served, make_app, served
from tests.support.schedule_parts import terms
from tests.support.store_parts import asked_run, new_ask, new_run
from tests.support.webhook_parts import new_webhook

from turnwise.base.ids import new_id
from turnwise.bus.in_process import InProcessBus
from turnwise.processes.settings import load_settings
from turnwise.record.asks.parking import park_ask
from turnwise.record.batches.batch_record import NewBatch, NewItem
from turnwise.record.database.database import Database
from turnwise.record.database.schema import asks
from turnwise.record.database.status_statements import change_asks
from turnwise.record.states import AskStatus
from turnwise.record.store import Store
from turnwise.record.tenants.caller import SCOPES, Scope
from turnwise.record.tenants.keys import KeyRecord, NewKey
from turnwise.record.tenants.reach import OneTenant
from turnwise.record.values.outcomes import Parking
from turnwise_gateway.api import create_api

OWNER, RIVAL, OPERATOR = "acme-1", "rival", "default"


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation of the OpenAPI document.

    One that is not `guarded` is open to all, one without `scopes` to every caller who is known.
    """

    id: str
    method: str
    path: str
    guarded: bool
    scopes: tuple[Scope, ...]
    statuses: frozenset[int]


def described() -> dict[str, Any]:
    """The OpenAPI document of a gateway that asks for keys, as a copy of its own."""
    document: dict[str, Any] = json.loads(_document())
    return document


@functools.cache
def _document() -> str:
    """The document as text; FastAPI takes a second to make it, and several modules need it while they are collected."""
    database = Database("sqlite:///nowhere.db")  # never opened
    return json.dumps(create_api(Store(database), InProcessBus(), make_app(), load_settings(auth="keys")).openapi())


def operations() -> list[Operation]:
    """All operations of the API, from its own description."""
    found = []
    for path, methods in described()["paths"].items():
        for method, operation in methods.items():
            scopes = [scope for way in operation.get("security", ()) for scope in way["bearer"]]
            found.append(
                Operation(
                    id=operation["operationId"],
                    method=method.upper(),
                    path=path,
                    guarded="security" in operation,
                    scopes=tuple(scopes),
                    statuses=frozenset(int(status) for status in operation["responses"]),
                )
            )
    return found


@dataclass(frozen=True, kw_only=True)
class Example:
    """A request that is fine; `named` says what of the owner's the path names, `operators` who may send it at all.

    `parts` are parameters of the path that name nothing of the owner's.
    """

    named: str | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    params: Mapping[str, str] = field(default_factory=dict)
    operators: bool = False


@dataclass(frozen=True, kw_only=True)
class World:
    """A gateway, and what the owner has behind it, by kind."""

    gateway: Served
    owned: Mapping[str, str]

    def key(self, tenant: str, *scopes: Scope, lifetime: float | None = None) -> tuple[KeyRecord, str]:
        """A new key, and its secret."""
        new = NewKey(tenant=tenant, name="test", scopes=scopes, lifetime=lifetime, created_by="test")
        record, secret = self.gateway.store.operator().create_key(new)
        return record, secret.text

    def send(
        self, operation: Operation, example: Example, bearer: str | None, *, missing: bool = False
    ) -> httpx2.Response:
        """The example's request; `missing`: about something that nobody has."""
        path = operation.path.format(**example.parts) if example.parts else operation.path
        if example.named is not None:
            name = path[path.index("{") + 1 : path.index("}")]
            path = path.replace(f"{{{name}}}", MISSING[example.named] if missing else self.owned[example.named])
        headers = {} if bearer is None else {"Authorization": f"Bearer {bearer}"}
        self.gateway.http.cookies.clear()  # this is no browser
        return self.gateway.http.request(
            operation.method, path, json=example.body, params=dict(example.params), headers=headers
        )

    def possessions(self) -> str:
        """All that the owner has, as text."""
        store, keys = self.gateway.store.tenant(OWNER), self.gateway.store.administrator(OneTenant(OWNER))
        runs, _ = store.runs(limit=200)
        batches = [(batch, store.batches.batch_items(batch.id)) for batch in store.batches.batches()]
        [key] = [key for key in keys.api_keys() if key.id == self.owned["key"]]
        return repr(
            (
                runs,
                store.session(self.owned["session"]),
                key,
                keys.tenants(),
                store.parked_asks(),
                store.schedules.schedules(),
                batches,
                store.webhooks.webhooks(),
                store.webhooks.deliveries(),
            )
        )


def problem_of(answer: httpx2.Response) -> dict[str, str]:
    """What was wrong, whatever form the path has for it."""
    found = answer.json()
    if "error" not in found:
        return dict(found)
    error = found["error"]
    code = "unauthorized" if error["code"] == "invalid_api_key" else error["code"]
    return {"code": code, "detail": error["message"]}


# Ids of the right form that name nothing.
MISSING = {
    "waiting": "run_0",
    "ended": "run_0",
    "batch": "bat_0",
    "parked": "run_0.1.1.1",
    "session": "nothing-1",
    "key": "key_0",
    "schedule": "sch_0",
    "old_schedule": "sch_0",
    "tenant": "nobody-1",
    "webhook": "hook_0",
    "other_webhook": "hook_0",
    "delivery": "msg_0",
}
ALL: tuple[Scope, ...] = SCOPES


@contextmanager
def world(directory: Path, **settings: Any) -> Iterator[World]:
    """Two tenants, one of which has something of everything."""
    with served(directory, **({"auth": "keys", "webhook_allowed_networks": ["127.0.0.0/8"]} | settings)) as gateway:
        store = gateway.store.tenant(OWNER)
        made = World(gateway=gateway, owned={})
        waiting, ended = store.submit(new_run())[0].id, store.submit(new_run(session_id="talk-1"))[0].id
        gateway.ask_human(waiting)
        gateway.finish(ended, "the secret of acme")
        parked = asked_run(gateway.store, "llm", run={"tenant": OWNER}, id="later")
        parked_id = f"{parked.id}.1.2.1"
        _park(gateway.store, parked.id, parked_id)
        new = NewBatch(id=new_id("bat"), task="desk", concurrency=5, name="the secret of acme")
        batch, _ = store.batches.open_batch(new)
        store.batches.add_items(batch.id, 1, [NewItem(run=new_run(), key="the secret of acme")])
        record, _ = made.key(OWNER, *ALL)
        gateway.store.operator().pause("tenant", "paused-1", "flood", "test")
        for left in store.schedules.schedules():  # by an earlier world of the same database
            store.schedules.remove_schedule(left.id)
        for receiver in store.webhooks.webhooks():
            store.webhooks.delete_webhook(receiver.id)
        schedule = store.schedules.create_schedule("secretly", terms(task="desk"), "test")
        store.schedules.pause_schedule(schedule.id, "not now", "test")
        old_schedule = store.schedules.create_schedule("no-longer", terms(task="desk"), "test")
        for hook in ("hook_1", "hook_2"):
            store.webhooks.create_webhook(new_webhook(id=hook))
        owned = {
            "waiting": waiting,
            "ended": ended,
            "batch": batch.id,
            "parked": parked_id,
            "session": "talk-1",
            "key": record.id,
            "schedule": schedule.id,
            "old_schedule": old_schedule.id,
            "tenant": OWNER,
            "webhook": "hook_1",
            "other_webhook": "hook_2",
            "delivery": store.webhooks.test_webhook("hook_1").id,
        }
        yield World(gateway=gateway, owned=owned)


def _park(store: Store, run_id: str, ask_id: str) -> None:
    with store.coordinator.locked(run_id) as transaction:
        transaction.close_ask("later", AskStatus.CANCELLED)
        transaction.add_ask(new_ask("llm", turn=2, id=ask_id))
        transaction.change(awaiting=ask_id)
    with store.coordinator.locked(run_id) as transaction:
        transaction.connection.execute(change_asks(AskStatus.LEASED, AskStatus.RUNNABLE).where(asks.c.id == ask_id))
        ask = transaction.ask(ask_id)
        assert ask is not None
        park_ask(transaction, ask, Parking(reason="attempts_exhausted"))
