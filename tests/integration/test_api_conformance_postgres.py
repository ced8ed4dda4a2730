"""The answers have the described form over PostgreSQL too.

`test_api_conformance.py` sends the thousands of requests with wrong and extreme values; what refuses those does not
know which database there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from tests.support.access_parts import World, world
from tests.support.conformance import bearer, check_afterwards, description, owned, send, tested
from tests.support.either_database import postgres_url
from tests.support.property_settings import examples

from turnwise.record.database.database import Database

__all__ = ["bearer", "owned", "postgres_url", "tested"]

pytestmark = pytest.mark.postgres

_anything = description(systematic=False)
_existing = description(systematic=False).include(path_regex=r"\{")


# With a parameter each operation's test has an id of its own; xdist runs one test of each id.
@pytest.fixture(scope="module", params=["postgres"])
def here(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    database = Database(postgres_url)
    with world(tmp_path_factory.mktemp("conformance"), database=database) as made:
        yield made
    database.close()


@_anything.parametrize()
@examples(8)
def test_no_answer_is_a_fault_or_is_missing_from_the_description(
    case: schemathesis.Case[Any], here: World, bearer: str, tested: set[str]
) -> None:
    tested.add(case.operation.label)
    send(case, here, bearer)


@_existing.parametrize()
@examples(8)
def test_neither_is_it_for_what_exists(
    case: schemathesis.Case[Any], here: World, bearer: str, owned: dict[str, str]
) -> None:
    for name in case.path_parameters or {}:
        case.path_parameters[name] = owned[name]
    send(case, here, bearer)


def test_afterwards_every_list_and_every_run_in_it_can_still_be_shown(
    here: World, bearer: str, tested: set[str]
) -> None:
    check_afterwards(here, bearer, tested)
