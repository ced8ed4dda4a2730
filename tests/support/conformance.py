"""Requests that schemathesis makes out of the API's own description, and the checks of their answers.

The fixtures are for modules with a `here`, the gateway that the requests are sent to.
"""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
from tests.support.access_parts import ALL, OPERATOR, World, described, operations
from tests.support.schedule_parts import terms
from tests.support.webhook_parts import new_webhook

from turnwise.base.ids import new_id
from turnwise.record.batches.batch_record import NewBatch

# They wait for their runs unless they are told not to.
_WAITING = ("/v1/chat/completions", "/v1/responses")

# What is taken and what is refused is tested by name; here it is the form of the answers.
_checks = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]


def description(*, systematic: bool, other_methods: bool = False) -> BaseSchema:
    """The API's description, to make requests of.

    `systematic` adds those with each wrong and each extreme value in turn, which are thousands. `other_methods` adds
    those with methods that a path does not have.
    """
    schema = schemathesis.openapi.from_dict(described())
    schema.config.phases.coverage.enabled = systematic
    if not other_methods:
        schema.config.phases.coverage.unexpected_methods = set()
    return schema


def send(case: schemathesis.Case[Any], here: World, bearer: str) -> None:
    """Send it, and check the answer's form."""
    query: dict[str, Any] = case.query or {}
    wait = query.get("wait", 1 if case.operation.path in _WAITING else None)
    if isinstance(wait, int | float) or (isinstance(wait, str) and wait.replace(".", "", 1).isdigit()):
        case.query = query | {"wait": 0}  # nobody works on these runs
    case.call_and_validate(
        base_url=here.gateway.base_url, headers={"Authorization": f"Bearer {bearer}"}, checks=_checks, timeout=20
    )


@pytest.fixture(scope="module")
def bearer(here: World) -> str:
    """A key that may do everything."""
    return here.key(OPERATOR, *ALL)[1]


@pytest.fixture(scope="module")
def tested() -> set[str]:
    """The operations that were tested, as schemathesis names them."""
    return set()


@pytest.fixture(scope="module")
def owned(here: World) -> dict[str, str]:
    """Make what the operator has, and say it by the names of parameters."""
    gateway = here.gateway
    store = gateway.store.tenant(OPERATOR)
    headers = {"Authorization": f"Bearer {here.key(OPERATOR, *ALL)[1]}"}
    body = {"task": "desk", "message": "hello", "session_id": "talk-2"}
    run = gateway.http.post("/v1/runs", json=body, headers=headers).json()["id"]
    gateway.finish(run)
    key, _ = here.key(OPERATOR, "runs:read")
    assert store.run(run).ended
    names = {"run_id": run, "session_id": "talk-2", "key_id": key.id, "tenant_id": "acme-1", "item_id": f"{run}.1.1.1"}
    store.webhooks.create_webhook(new_webhook(id="hook_9"))
    names |= {"webhook_id": "hook_9", "delivery_id": store.webhooks.test_webhook("hook_9").id}
    batch, _ = store.batches.open_batch(NewBatch(id=new_id("bat"), task="desk", concurrency=5))
    schedule = store.schedules.create_schedule(new_id("s"), terms(task="desk"), "test")
    names |= {"batch_id": batch.id, "schedule": schedule.id}
    return names | {"kind": "tenant", "name": "paused-1", "model": "desk"}


def check_afterwards(here: World, bearer: str, tested: set[str]) -> None:
    """Fail unless each operation was `tested`, or none; read every list and every run in it, and start one more run."""
    assert tested in (set(), {f"{one.method} {one.path}" for one in operations()}), "not every operation was tested"
    http, headers = here.gateway.http, {"Authorization": f"Bearer {bearer}"}
    for operation in operations():
        if operation.method == "GET" and "{" not in operation.path:
            answer = http.get(operation.path, headers=headers)
            assert answer.status_code == 200, f"{operation.path}: {answer.text}"
    cursor: str | None = None
    while True:
        page = http.get(
            "/v1/runs", params={"limit": 20} | ({"cursor": cursor} if cursor else {}), headers=headers
        ).json()
        for run in page["items"]:
            for path in ("", "/transcript"):
                assert http.get(f"/v1/runs/{run['id']}{path}", headers=headers).status_code == 200, run
            here.gateway.store.inspector.export(run["id"])
        if (cursor := page["next_cursor"]) is None:
            break
    fresh = http.post("/v1/runs", json={"task": "desk", "message": "hello"}, headers=headers)
    assert fresh.status_code == 202
