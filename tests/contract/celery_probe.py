"""A Celery application like the services', for tests to start with `celery -A contract.celery_probe worker`.

Each task appends what it was given, with its process id, to the file named by `PROBE_FILE`; an answer does so only once
there is no file `hold` beside it.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

from turnwise.bus.broker.protocol import ANSWER_TASK, MOVE_TASK
from turnwise.bus.signing import WireKeys
from turnwise.bus.worker.celery_app import make_celery

_KEYS = WireKeys.of(os.environ.get("PROBE_KEYS", "").split())
app = make_celery("probe", os.environ["PROBE_BROKER"], ["coordinator", "llm", "agent", "llm-big"], keys=_KEYS)


def _write(task: str, envelope: dict[str, Any]) -> None:
    line = json.dumps({"task": task, "pid": os.getpid(), "envelope": envelope})
    with Path(os.environ["PROBE_FILE"]).open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def _answer(envelope: dict[str, Any]) -> None:
    pause = threading.Event()
    while Path(os.environ["PROBE_FILE"]).with_name("hold").exists():
        pause.wait(0.01)
    _write(ANSWER_TASK, envelope)


def _move(envelope: dict[str, Any]) -> None:
    _write(MOVE_TASK, envelope)


app.task(_answer, name=ANSWER_TASK)
app.task(_move, name=MOVE_TASK)
