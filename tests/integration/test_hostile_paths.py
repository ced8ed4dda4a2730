"""No name in a path, however odd, makes an answer other than that there is no such thing; on every route there is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.integration.test_access import EXAMPLES
from tests.support.access_parts import ALL, OPERATOR, Operation, World, operations, world
from tests.support.either_database import postgres_url

from turnwise.record.database.database import Database

__all__ = ["postgres_url"]

# As they stand in a request; `RUN` becomes an id of a run that exists.
NAMES = [
    "%00",
    "RUN%00",
    "RUN.%00",
    "RUN.1.1.1%00",
    "%7F",
    "%ED%A0%80",
    "%FF%FE",
    "%F0%9F%98%80",
    "n" * 301,
    "RUN." + "9" * 250,
    "RUN.-1.1e9.%2B1",
    "%25%00",
    "..%2F..%2Fkeys",
    "99999999999999999999",
]
WITH_NAMES = [operation for operation in operations() if "{" in operation.path]


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def here(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    database = Database(request.getfixturevalue("postgres_url")) if request.param == "postgres" else None
    with world(tmp_path_factory.mktemp("paths"), database=database) as made:
        yield made
    if database is not None:
        database.close()


@pytest.mark.parametrize("operation", WITH_NAMES, ids=lambda operation: operation.id)
def test_an_odd_name_is_a_name_of_nothing(here: World, operation: Operation) -> None:
    headers = {"Authorization": f"Bearer {here.key(OPERATOR, *ALL)[1]}"}
    start, _, rest = operation.path.partition("{")
    end = rest.partition("}")[2]
    if "{" in end:  # the first one is a word of a list, and the second one is a name
        start, end = f"{start}queue/", ""
    example = EXAMPLES.get(operation.id)
    for name in NAMES:
        path = start + name.replace("RUN", here.owned["waiting"]) + end

        answer = here.gateway.http.request(
            operation.method, path, headers=headers, json=example.body if example is not None else None
        )

        told = f"{operation.method} {path}: {answer.status_code} {answer.text[:200]}"
        if operation.id in ("set_tenant", "show_tenant", "list_outlines") and answer.status_code == 200:
            assert name == "99999999999999999999", told  # which a tenant may be called
            continue
        assert answer.status_code in (404, 422) or (answer.status_code, "%2F" in name) in ((405, True), (403, True)), (
            told
        )
        form = "application/json" if operation.id == "show_model" else "application/problem+json"  # OpenAI's own
        assert answer.headers["content-type"] == form, told


def test_what_was_refused_is_in_the_audit_log(here: World) -> None:
    headers = {"Authorization": f"Bearer {here.key(OPERATOR, *ALL)[1]}"}

    answer = here.gateway.http.delete("/v1/keys/nothing-%E2%82%AC", headers=headers)

    assert answer.status_code == 404
    listed = here.gateway.http.get("/v1/audit", headers=headers).json()["items"]
    assert "/v1/keys/nothing-€" in {row["resource"] for row in listed}
