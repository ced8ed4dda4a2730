"""Completion by the shell: names of tasks and ids of runs, as the gateway knows them.

Someone who presses a key waits for this. So it asks the gateway once, briefly, and without the client, which takes
longer to load than the gateway to answer. Where nothing answers, there is nothing to complete, and no error.
"""

from __future__ import annotations

import json
from typing import Any

import typer

from turnwise.base.text import visible
from turnwise.cli.client_settings import gateway_key, gateway_or_default
from turnwise.errors import ConfigurationError

# A value, and what the shell shows beside it.
Choice = tuple[str, str]
Json = dict[str, Any]

_SECONDS = 1.0
_RUNS = 50
_STATUSES = ("queued", "running", "waiting", "completed", "failed", "cancelled")


def complete_task(ctx: typer.Context, incomplete: str) -> list[Choice]:
    """Return the tasks of the application."""
    found = [(str(task["name"]), f"{task['application']} {task['version']}") for task in _items(ctx, "tasks")]
    return _beginning(incomplete, found)


def complete_run(ctx: typer.Context, incomplete: str) -> list[Choice]:
    """Return the newest runs; `answer` has only those that wait."""
    conditions = {"status": "waiting"} if ctx.info_name == "answer" else {}
    runs = _items(ctx, "runs", limit=str(_RUNS), **conditions)
    return _beginning(incomplete, [(str(run["id"]), f"{run['task']}, {run['status']}") for run in runs])


def complete_status(incomplete: str) -> list[str]:
    """Return the statuses of runs."""
    return [status for status in _STATUSES if status.startswith(incomplete)]


def _beginning(incomplete: str, choices: list[Choice]) -> list[Choice]:
    """Return the choices that begin so; none that a terminal would obey."""
    return [
        (value, visible(told)) for value, told in choices if value.startswith(incomplete) and visible(value) == value
    ]


def _items(ctx: typer.Context, resource: str, **conditions: str) -> list[Json]:
    """Return a page of the gateway; none if it does not answer as it should."""
    # Every command loads this module, and few complete anything.
    from http.client import HTTPException
    from urllib.parse import urlencode
    from urllib.request import Request, urlopen

    query = f"?{urlencode(conditions)}" if conditions else ""
    try:
        base, key = ctx.params.get("url") or gateway_or_default(), gateway_key()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        request = Request(f"{str(base).rstrip('/')}/v1/{resource}{query}", headers=headers)
        with urlopen(request, timeout=_SECONDS) as answer:
            items: list[Json] = json.load(answer)["items"]
            return items
    except (OSError, HTTPException, ValueError, LookupError, TypeError, ConfigurationError):
        return []
