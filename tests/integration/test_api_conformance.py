"""The API does what its own description says, whatever it is sent; schemathesis makes the requests out of that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from tests.support.access_parts import World, world
from tests.support.conformance import bearer, check_afterwards, description, owned, send, tested
from tests.support.property_settings import examples

__all__ = ["bearer", "owned", "tested"]

_anything = description(systematic=True, other_methods=True)
_existing = description(systematic=True).include(path_regex=r"\{")


# With a parameter each operation's test has an id of its own; xdist runs one test of each id.
@pytest.fixture(scope="module", params=["sqlite"])
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("conformance")) as made:
        yield made


@pytest.fixture(scope="module")
def sent() -> set[str]:
    """The requests for what exists, so far."""
    return set()


@_anything.parametrize()
@examples(4)
def test_no_answer_is_a_fault_or_is_missing_from_the_description(
    case: schemathesis.Case[Any], here: World, bearer: str, tested: set[str]
) -> None:
    tested.add(case.operation.label)
    send(case, here, bearer)


@_existing.parametrize()
@examples(2)
def test_neither_is_it_for_what_exists(
    case: schemathesis.Case[Any], here: World, bearer: str, owned: dict[str, str], sent: set[str]
) -> None:
    for name in case.path_parameters or {}:
        case.path_parameters[name] = owned[name]
    # Those that differed in their path only are now the same.
    request = f"{case.method} {case.formatted_path} {case.query} {case.headers} {case.media_type} {case.body!r}"
    if request not in sent:
        sent.add(request)
        send(case, here, bearer)


def test_afterwards_every_list_and_every_run_in_it_can_still_be_shown(
    here: World, bearer: str, tested: set[str]
) -> None:
    check_afterwards(here, bearer, tested)
