"""The skipping, or in CI the failing, of tests without the server, program or image that they need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pytest
from tests.support.databases import NoPostgresError, migrated_copy

# Skips whose reason begins so are failures on a build server, which has to have every service.
MISSING = "service missing: "


def require(condition: object, reason: str) -> None:
    """Skip the running test unless `condition`; `reason` says what is missing and how to get it."""
    if not condition:
        missing(reason)


def missing(reason: str) -> NoReturn:
    """Skip the running test for want of a service."""
    pytest.skip(MISSING + reason)


@contextmanager
def migrated_postgres() -> Iterator[str]:
    """URL of a new PostgreSQL database with Turnwise's tables; skips where no server can be had."""
    try:
        with migrated_copy() as url:
            yield url
    except NoPostgresError as error:
        missing(str(error))


def on_build_server() -> bool:
    """Return whether `CI` is set to anything but a word for no."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")


def refused_skip(outcome: str, longrepr: object) -> str | None:
    """The failure that a build server makes of a skip for a missing service; None for any other outcome.

    Takes `outcome` and `longrepr` of a pytest report: a skip's `longrepr` is (path, line, "Skipped: " + reason).
    """
    if outcome != "skipped" or not isinstance(longrepr, tuple):
        return None
    path, line, reason = longrepr
    text = str(reason).removeprefix("Skipped: ")
    if not text.startswith(MISSING):
        return None
    return f"{path}:{line}: {text} (CI is set, so this fails; unset CI to skip it)"
