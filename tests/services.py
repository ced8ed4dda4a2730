"""What a test does when a server, program or image that it needs is not there."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

# Skips whose reason begins so are failures on a build server, which has to have every service.
MISSING = "service missing: "


def require(condition: object, reason: str) -> None:
    """Skip the running test unless `condition`; `reason` says what is missing and how to get it."""
    if not condition:
        missing(reason)


def missing(reason: str) -> NoReturn:
    """Skip the running test for want of a service."""
    pytest.skip(MISSING + reason)


def on_build_server() -> bool:
    """Whether `CI` is set to anything but a word for no."""
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
