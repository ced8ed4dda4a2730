"""Celery's message protocol 2, written by hand: a sixth of the work of `apply_async`.

A message carries one positional argument, the envelope. Described in Celery's documentation, "Message Protocol".
"""

from __future__ import annotations

import os
import socket
import uuid
from typing import Any

from turnwise.bus.envelope import Work

MOVE_TASK = "turnwise.move"
ANSWER_TASK = "turnwise.answer"

_EMBED = '{"callbacks":null,"errbacks":null,"chain":null,"chord":null}'


def body(work: Work) -> str:
    """The JSON body: positional arguments, keyword arguments, what to call afterwards (nothing)."""
    return f"[[{work.model_dump_json(exclude_none=True)}],{{}},{_EMBED}]"


def headers(task: str, work: Work, message_id: str) -> dict[str, Any]:
    """The headers by which a Celery worker finds the task; the run is the root, so that monitors group by it."""
    subject = work.ask if work.kind == "ask" else work.run
    return {
        "lang": "py",
        "task": task,
        "id": message_id,
        "root_id": work.run,
        "parent_id": None,
        "group": None,
        "shadow": None,
        "eta": None,
        "expires": None,
        "retries": 0,
        "timelimit": [None, None],
        "argsrepr": f"({subject!r},)",
        "kwargsrepr": "{}",
        "origin": f"{os.getpid()}@{socket.gethostname()}",
        "ignore_result": True,
    }


def new_message_id() -> str:
    """An id of the message, not of what it is about: the same ask may be published many times."""
    return str(uuid.uuid4())
