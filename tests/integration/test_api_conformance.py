"""The API does what its own description says, whatever it is sent; schemathesis makes the requests out of that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
from tests.access_parts import ALL, OPERATOR, World, described, operations, world
from tests.either_database import postgres_url
from tests.property_settings import examples

from turnwise.runs.database import Database

__all__ = ["postgres_url"]

# What is taken and what is refused is tested by name; here it is the form of the answers.
_checks = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
_schema = schemathesis.openapi.from_dict(described(auth="keys"))


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def here(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    database = Database(request.getfixturevalue("postgres_url")) if request.param == "postgres" else None
    with world(tmp_path_factory.mktemp("conformance"), database=database) as made:
        yield made
    if database is not None:
        database.close()


@pytest.fixture(scope="module")
def bearer(here: World) -> str:
    return here.key(OPERATOR, *ALL)[1]


@pytest.fixture(scope="module")
def owned(here: World) -> dict[str, str]:
    """What the operator has, by the names of parameters."""
    gateway = here.gateway
    store = gateway.store.of(OPERATOR)
    headers = {"Authorization": f"Bearer {here.key(OPERATOR, *ALL)[1]}"}
    body = {"task": "desk", "message": "hello", "session_id": "talk-2"}
    run = gateway.http.post("/v1/runs", json=body, headers=headers).json()["id"]
    gateway.finish(run)
    key, _ = here.key(OPERATOR, "runs:read")
    assert store.run(run).ended
    names = {"run_id": run, "session_id": "talk-2", "key_id": key.id, "tenant_id": "acme-1", "item_id": f"{run}.1.1.1"}
    return names | {"kind": "tenant", "name": "paused-1"}


def _send(case: schemathesis.Case[Any], here: World, bearer: str) -> None:
    query: dict[str, Any] = case.query or {}
    if isinstance(query.get("wait"), int | float):
        query["wait"] = 0  # nobody works on these runs
    case.call_and_validate(
        base_url=here.gateway.base_url, headers={"Authorization": f"Bearer {bearer}"}, checks=_checks, timeout=20
    )


@_schema.parametrize()
@examples(4)
def test_no_answer_is_a_fault_or_is_missing_from_the_description(
    case: schemathesis.Case[Any], here: World, bearer: str
) -> None:
    _send(case, here, bearer)


@_schema.include(path_regex=r"\{").parametrize()
@examples(2)
def test_neither_is_it_for_what_exists(
    case: schemathesis.Case[Any], here: World, bearer: str, owned: dict[str, str]
) -> None:
    for name in case.path_parameters or {}:
        case.path_parameters[name] = owned[name]
    _send(case, here, bearer)


def test_afterwards_every_list_and_every_run_in_it_can_still_be_shown(here: World, bearer: str) -> None:
    http, headers = here.gateway.http, {"Authorization": f"Bearer {bearer}"}
    for operation in operations(auth="keys"):
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
            here.gateway.store.export(run["id"])
        if (cursor := page["next_cursor"]) is None:
            break
    fresh = http.post("/v1/runs", json={"task": "desk", "message": "hello"}, headers=headers)
    assert fresh.status_code == 202
