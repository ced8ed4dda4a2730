"""The tools that operators of Celery know work with these workers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from tests.e2e.installation import Distributed
from tests.e2e.processes import environment, free_port
from tests.e2e.waiting import until

_CELERY = [sys.executable, "-m", "celery", "-A", "turnwise_responders.celery_app"]


def test_inspect_ping_is_answered_by_every_worker(distributed: Distributed, tmp_path: Path) -> None:
    done = subprocess.run(
        [*_CELERY, "inspect", "ping", "--timeout", "5", "--json"],
        env=environment(**distributed.settings),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert {_process(name) for name in answers} == _processes(distributed)
    assert all(answer == {"ok": "pong"} for answer in answers.values())


def test_flower_lists_the_workers(distributed: Distributed, tmp_path: Path) -> None:
    port = free_port()
    env = environment(**distributed.settings) | {"FLOWER_UNAUTHENTICATED_API": "true"}
    with (tmp_path / "flower.log").open("wb") as log:
        flower = subprocess.Popen(
            [*_CELERY, "flower", f"--port={port}", "--address=127.0.0.1"],
            env=env,
            cwd=tmp_path,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: _workers_in_flower(port) >= _processes(distributed), "flower to list the workers")
    finally:
        flower.kill()
        flower.wait()


def _workers_in_flower(port: int) -> set[str]:
    try:
        with urlopen(f"http://127.0.0.1:{port}/api/workers?refresh=1", timeout=10) as response:
            found: dict[str, Any] = json.load(response)
    except (URLError, OSError):
        return set()
    return {_process(name) for name in found}


def _process(worker: str) -> str:
    return worker.partition("@")[0]


def _processes(distributed: Distributed) -> set[str]:
    named = {"coordinator": "coordinator", "llm": "worker", "agent": "worker"}
    return {f"{name}-{distributed.processes[role].pid}" for role, name in named.items()}  # type: ignore[index]
