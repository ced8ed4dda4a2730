"""One program run in every way: as a script, in an event loop, and served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from tests.support.databases import fresh_sqlite
from tests.support.served_parts import Desk

from turnwise import App, Task
from turnwise.record.store import Store


def results(make: Callable[[], Task], folder: Path, text: str = "go") -> list[str]:
    """Return the text of the result of `run`, `run_async` and a served run of the task that `make` makes."""
    here = (make().run(text), asyncio.run(make().run_async(text)))
    return [result.content if result is not None else "" for result in here] + [served(make, folder, text)]


def served(make: Callable[[], Task], folder: Path, text: str = "go") -> str:
    """Return the text of the result of a served run."""
    app = App("every-way")
    app.task(name="desk")(make)
    database = fresh_sqlite(folder / "runs.db")
    with Desk(Store(database), app) as desk:
        run = desk.go_on(desk.submit("desk", text))
    database.close()
    assert run.result is not None, run
    return str(run.result["content"])
