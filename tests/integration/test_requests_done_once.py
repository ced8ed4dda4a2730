"""A request with an idempotency key is done once, whatever it does and however often it is sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from tests.integration.test_access import EXAMPLES
from tests.support.access_parts import ALL, OPERATOR, OWNER, Example, Operation, World, operations, world
from tests.support.either_database import database, postgres_url
from tests.support.gateway_parts import Served, make_app, served
from tests.support.served_parts import Desk

from turnwise.record.database.access_schema import api_keys, idempotency_keys
from turnwise.record.database.database import Database
from turnwise.record.database.schema import asks, documents, events, replies, runs
from turnwise.record.database.webhook_tables import webhook_deliveries
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.upkeep.purging import Retention
from turnwise.record.values.kept_errors import RaisedError
from turnwise.serving.moves.move import fail

__all__ = ["database", "postgres_url"]

# What is done by PUT and DELETE is done once as it is.
BULK = ("cancel_runs", "retry_runs", "retry_batch")  # done run by run; see below
ANSWERED_LATE = ("create_chat_completion", "create_response")  # once their runs end; see test_openai_door
CHANGING = [
    operation
    for operation in operations()
    if operation.method in ("POST", "PATCH") and operation.id not in (*BULK, *ANSWERED_LATE)
]
_SECRETS = ("create_key", "rotate_key", "create_webhook", "rotate_webhook")
# Sent again, it changes the runs that it has not reached before.
_IN_PARTS = ("cancel_batch",)
_TOLD_ONCE = (*_SECRETS, "test_webhook", "replay_deliveries", "replay_delivery")
_OTHER_BODIES: dict[str, Any] = {
    "cancel_run": {"why": "another body"},
    "retry_run": {"limits": {"max_tokens": 5}},
    "rotate_key": {"overlap": 5.0},
    "fork_run": {"at": 1, "message": "another"},
    "resolve": {"outcome": "fail"},
    "answer_question": {"text": "no"},
    "change_run": {"limits": {"max_cost": "3.00"}},
    "submit": {"task": "desk", "message": "another"},
    "submit_batch": {"runs": [{"task": "desk", "message": "another"}]},
    "create_schedule": {"name": "another", "task": "desk", "message": "hi", "cron": "@daily"},
    "change_schedule": {"overlap": "cancel"},
    "pause_schedule": {"note": "another"},
    "resume_schedule": {"why": "another body"},
    "trigger_schedule": {"why": "another body"},
    "open_batch": {"task": "desk", "key": "other"},
    "add_batch_items": {"first": 2, "items": [{"message": "another"}]},
    "create_webhook": {"url": "https://127.0.0.1/another"},
    "change_webhook": {"description": "another"},
    "rotate_webhook": {"overlap": 5.0},
    "create_key": {"name": "another", "scopes": ["runs:read"]},
}


@pytest.fixture
def here(database: Database, tmp_path: Path) -> Iterator[World]:
    with world(tmp_path, database=database) as made:
        yield made


def _example(here: World, operation: Operation) -> tuple[str, Example]:
    """The path and the request; runs that have failed are needed by a retry alone."""
    example = EXAMPLES.get(operation.id, Example())
    if operation.id == "retry_run":
        run = _submitted(here)
        with here.gateway.store.coordinator.locked(run) as transaction:
            fail(transaction, RaisedError(type="Broken", message="broken"))
            transaction.mark()
        return operation.path.replace("{run_id}", run), example
    if operation.id == "replay_delivery":
        _end_deliveries(here)
        return operation.path.format(webhook_id=here.owned["webhook"], delivery_id=here.owned["delivery"]), example
    if example.named is not None:
        name = operation.path[operation.path.index("{") : operation.path.index("}") + 1]
        return operation.path.replace(name, here.owned[example.named]), example
    return operation.path, example


def _end_deliveries(here: World) -> None:
    """Let all that is to be sent be given up: what is being sent already is not sent again."""
    with here.gateway.store.database.begin() as connection:
        connection.execute(sa.update(webhook_deliveries).values(state="parked"))


def _submitted(here: World) -> str:
    return str(_send(here.gateway, "POST", "/v1/runs", {"task": "desk", "message": "hi"}, _bearer(here)).json()["id"])


def _bearer(here: World, tenant: str = OWNER) -> dict[str, str]:
    return {"Authorization": f"Bearer {here.key(tenant, *ALL)[1]}"}


def _send(gateway: Served, method: str, path: str, body: Any, headers: dict[str, str]) -> httpx2.Response:
    return gateway.http.request(method, path, json=body, headers=headers)


def _effects(database: Database) -> dict[str, Any]:
    """All that a second effect would change."""
    with database.read() as connection:
        counts = {
            table.name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in (runs, events, asks, replies, documents, api_keys, idempotency_keys)
        }
        last = connection.execute(sa.select(runs.c.id, runs.c.last_seq, runs.c.status).order_by(runs.c.id)).all()
    return counts | {"runs": last}


def _about(answer: httpx2.Response) -> Any:
    """The id of what an answer is about, or those of all of a batch."""
    told = answer.json()
    if "replayed" in told:
        return told["replayed"]
    return told["id"] if "id" in told else [run["id"] for run in told["runs"]]


@pytest.mark.parametrize("operation", CHANGING, ids=lambda operation: operation.id)
def test_a_repeated_request_has_one_effect(here: World, database: Database, operation: Operation) -> None:
    path, example = _example(here, operation)
    operators = {"Authorization": f"Bearer {here.key(OPERATOR, *ALL)[1]}"}
    headers = operators if example.operators else _bearer(here)
    headers |= {"Idempotency-Key": f"once-{here.owned['waiting']}"}

    first = _send(here.gateway, operation.method, path, example.body, headers)
    assert first.status_code < 300, f"{operation.id}: {first.text}; give it a request that is fine in EXAMPLES"
    after_first = _effects(database)
    again = _send(here.gateway, operation.method, path, example.body, headers)
    other = _send(here.gateway, operation.method, path, _OTHER_BODIES.get(operation.id, {"a": "b"}), headers)

    assert _effects(database) == after_first
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch"), other.text
    if operation.id in _TOLD_ONCE:
        assert (again.status_code, again.json()["code"]) == (409, "already_done")
        assert operation.id not in _SECRETS or first.json()["secret"] not in again.text  # nobody is told one twice
        assert operation.id not in _SECRETS or first.json()["id"] in again.text  # what to revoke or rotate
    else:
        assert (again.status_code, _about(again)) == (first.status_code, _about(first)), again.text
        replayed = None if operation.id in _IN_PARTS else "true"
        assert (first.headers.get("Idempotent-Replayed"), again.headers.get("Idempotent-Replayed")) == (None, replayed)


@pytest.mark.parametrize("operation", CHANGING, ids=lambda operation: operation.id)
def test_the_same_request_sent_many_times_at_once_has_one_effect(
    here: World, database: Database, operation: Operation
) -> None:
    path, example = _example(here, operation)
    tenant = OPERATOR if example.operators else OWNER
    headers = _bearer(here, tenant) | {"Idempotency-Key": f"at-once-{here.owned['waiting']}"}
    answers: list[httpx2.Response] = []

    def send() -> None:
        answers.append(_send(here.gateway, operation.method, path, example.body, headers))

    before = _effects(database)["events"]
    threads = [threading.Thread(target=send) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    good = {json.dumps(_about(answer)) for answer in answers if answer.status_code < 300}
    others = {(answer.status_code, answer.json()["code"]) for answer in answers if answer.status_code >= 300}
    assert len(good) == 1, [answer.text for answer in answers]
    assert others <= ({(409, "already_done")} if operation.id in _TOLD_ONCE else set())
    assert _effects(database)["events"] - before <= 3


def test_a_repeated_fork_with_a_message_answers_one_question(database: Database, tmp_path: Path) -> None:
    """The second request answered the fork's next question with the same text."""
    with Desk(Store(database), make_app()) as desk, served(tmp_path, database=database) as gateway:
        run = desk.go_on(desk.submit("desk"))
        asked = next(event.seq for event in desk.store.inspector.events(run.id) if event.type == "human.asked")
        headers, body = {"Idempotency-Key": f"fork-{run.id}"}, {"at": asked, "message": "answer one"}

        first = _send(gateway, "POST", f"/v1/runs/{run.id}/fork", body, headers)
        assert first.status_code == 202, first.text
        fork = first.json()["id"]
        assert desk.go_on(fork).status == "waiting"
        before = desk.events(fork)
        again = _send(gateway, "POST", f"/v1/runs/{run.id}/fork", body, headers)

        assert (again.status_code, again.json()["id"]) == (202, fork)
        assert desk.events(fork) == before
        assert before.count("human.answered") == 1
        assert before.count("human.asked") == 2


def test_a_repeated_fork_is_answered_when_its_origin_has_been_purged(database: Database, tmp_path: Path) -> None:
    store = Store(database)
    with Desk(store, make_app()) as desk, served(tmp_path, database=database) as gateway:
        origin = desk.submit("desk")
        headers, body, path = {"Idempotency-Key": f"fork-{origin}"}, {"at": 1}, f"/v1/runs/{origin}/fork"
        fork = _send(gateway, "POST", path, body, headers).json()["id"]
        with store.coordinator.locked(origin) as transaction:
            transaction.finish(RunStatus.CANCELLED, "KILL")
        assert store.coordinator.purge_run(origin, Retention(older_than=0))

        again = _send(gateway, "POST", path, body, headers)
        changed = _send(gateway, "POST", path, {"at": 1, "message": "another"}, headers)
        others = [_send(gateway, "POST", path, body, more) for more in ({}, {"Idempotency-Key": f"new-{origin}"})]

        assert (again.status_code, again.json().get("id")) == (202, fork), again.text
        assert (again.headers["location"], again.headers["idempotent-replayed"]) == (f"/v1/runs/{fork}", "true")
        assert (changed.status_code, changed.json()["code"]) == (422, "idempotency_mismatch")
        assert [other.status_code for other in others] == [404, 404]


@pytest.mark.parametrize("action", ["cancel", "retry"])
def test_a_repeated_request_for_many_runs_changes_each_once(action: str, database: Database, tmp_path: Path) -> None:
    with Desk(Store(database), make_app()) as desk, served(tmp_path, database=database) as gateway:
        found = [desk.submit("desk", tags=["many", str(number)]) for number in range(3)]

        def break_all() -> None:
            for run in found:
                with desk.store.coordinator.locked(run) as transaction:
                    fail(transaction, RaisedError(type="Broken", message="broken"))
                    transaction.mark()

        def send(body: Any, key: str) -> httpx2.Response:
            return _send(gateway, "POST", f"/v1/runs/{action}", body, {"Idempotency-Key": f"{key}-{found[0]}"})

        if action == "retry":
            break_all()
        all_of_them = {"filter": {"tag": "many"}, "limit": 3}
        first = send(all_of_them, "all")
        assert (first.status_code, first.json()["changed"], first.json()["refused"]) == (200, 3, []), first.text
        if action == "retry":
            break_all()  # so that each matches again
        late = desk.submit("desk", tags=["many"])
        before = _effects(database)

        # when
        again = send(all_of_them, "all")
        other = send({"filter": {"tag": "1"}}, "all")

        # then
        assert again.json() == first.json()
        assert late not in again.json()["runs"]
        assert _effects(database) == before
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
        submitted = _send(
            gateway, "POST", "/v1/runs", {"task": "desk", "message": "hi"}, {"Idempotency-Key": f"of-{late}"}
        )
        assert submitted.status_code == 202
        taken = _send(gateway, "POST", f"/v1/runs/{action}", all_of_them, {"Idempotency-Key": f"of-{late}"})
        assert (taken.status_code, taken.json()["code"]) == (422, "idempotency_mismatch")
        fresh = send({"filter": {"tag": "many", "task": "desk"}, "limit": 100}, "another")
        assert (fresh.status_code, fresh.json()["changed"]) == (200, 4 if action == "cancel" else 3)


def test_a_key_is_one_key_for_every_kind_of_request(here: World, database: Database) -> None:
    run, headers = here.owned["waiting"], _bearer(here)
    cancelled = headers | {"Idempotency-Key": f"a-{run}"}
    submitted = headers | {"Idempotency-Key": f"b-{run}"}
    new = {"task": "desk", "message": "hello"}
    assert _send(here.gateway, "POST", f"/v1/runs/{run}/cancel", None, cancelled).status_code == 202
    assert _send(here.gateway, "POST", "/v1/runs", new, submitted).status_code == 202
    before = _effects(database)

    answers = [
        _send(here.gateway, "POST", "/v1/runs", new, cancelled),
        _send(here.gateway, "POST", f"/v1/runs/{run}/cancel", None, submitted),
    ]

    assert [answer.json()["code"] for answer in answers] == ["idempotency_mismatch"] * 2
    assert _effects(database) == before


def test_another_tenant_has_keys_of_its_own_and_old_ones_are_forgotten(here: World, database: Database) -> None:
    path, body, key = "/v1/keys", {"name": "mine", "scopes": ["runs:read"]}, f"shared-{here.owned['waiting']}"
    for tenant in (OWNER, "rival"):
        headers = _bearer(here, tenant) | {"Idempotency-Key": key}
        assert _send(here.gateway, "POST", path, body, headers).status_code == 201

    with database.begin() as connection:
        connection.execute(sa.update(idempotency_keys).where(idempotency_keys.c.tenant == "rival").values(at=0.0))
    here.gateway.store.coordinator.forget_old_requests(1_000)

    with database.read() as connection:
        kept = connection.execute(sa.select(idempotency_keys.c.tenant).where(idempotency_keys.c.key == key)).all()
    assert [row[0] for row in kept] == [OWNER]


def test_every_operation_that_changes_something_takes_a_key(here: World) -> None:
    described = here.gateway.http.get("/openapi.json").json()
    for path, methods in described["paths"].items():
        for method in {"post", "patch"} & set(methods):
            named = {one["name"] for one in methods[method].get("parameters", ())}
            assert "idempotency-key" in {name.lower() for name in named}, f"{method} {path}"


@pytest.mark.parametrize("key", ["", "k" * 256, "a\x7fb"])
def test_a_key_that_is_none_is_refused(here: World, key: str) -> None:
    path = f"/v1/runs/{here.owned['waiting']}/cancel"

    refused = _send(here.gateway, "POST", path, None, _bearer(here) | {"Idempotency-Key": key})

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
