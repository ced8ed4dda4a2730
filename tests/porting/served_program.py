"""Runs a program whose tasks are served: python -m tests.porting.served_program PROGRAM ARGUMENT...

Each `Task.run` of the program becomes a run that a server works on; the human of the program answers its questions. A
task that a handler runs by itself is the handler's own affair, and stays what it is. With `PORTING_URL` and
`PORTING_DATABASE` an installation serves the first task, else a server in this process serves all of them.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from unittest import mock

from tests.support.client_views import numbered

from turnwise import App, Task
from turnwise.base.ids import new_id
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.messages.wire import decode_document, encode_document
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import NewRun
from turnwise.tasks.entry import document_of

from .captured import NAME, run_program

_LEASE = 60.0


class Desk:
    """The server of one task, and its runs one after the other, in a session of their own."""

    def __init__(self, task: Task[Any], url: str, database: str, stack: ExitStack) -> None:
        self._task = task
        self._session = new_id("session")
        self._client = stack.enter_context(Client(url))
        self._store = Store(stack.enter_context(closing(Database(database))), lease_seconds=_LEASE)

    def run(self, msg: Any, turns: int) -> Any:
        """Submit the message, answer as the human, and return the result as a document; raise a failed run's error."""
        run_id = self._submit(msg, turns)
        for event in numbered(self._client.events(run_id)):
            if event.type == "human.asked":
                self._client.answer(run_id, input(), question=event.ask)
        run = self._client.run(run_id)
        if error := run.error:
            raise type(error["type"], (Exception,), {})(error["message"])
        if run.result is None:
            return None
        return decode_document(run.result.document, self._task.tree().registry())

    def _submit(self, msg: Any, turns: int) -> str:
        bound = turns if turns > 0 else None
        if isinstance(msg, str) and msg:
            return str(self._client.submit(NAME, msg, turns=bound, session_id=self._session).id)
        # No message, or one that is no text, is what HTTP has no words for.
        message = encode_document(document_of(msg)) if msg is not None else {}
        run, _ = self._store.tenant(DEFAULT_TENANT).submit(
            NewRun(id=new_id("run"), task=NAME, version="1", session_id=self._session, message=message, turns=bound)
        )
        return run.id


class Desks:
    """The desks of a program's tasks; those that are not an installation's are opened here."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._desks: dict[int, tuple[Task[Any], Desk]] = {}

    def run(self, task: Task[Any], msg: Any, turns: int, return_type: Any) -> Any:
        """Run the task at its desk, and return what `Task.run` would."""
        if id(task) not in self._desks:
            self._desks[id(task)] = (task, self._desk(task))
        result = self._desks[id(task)][1].run(msg, turns)
        return task._returned(result, return_type)

    def _desk(self, task: Task[Any]) -> Desk:
        if not self._desks and (url := os.environ.get("PORTING_URL")):
            return Desk(task, url, os.environ["PORTING_DATABASE"], self._stack)
        app = App("ported")
        app.task(name=NAME)(lambda: task)
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        database = f"sqlite:///{folder / 'turnwise.db'}"
        settings = load_settings(database_url=database, bind="127.0.0.1:0", lease_seconds=_LEASE, sweep_seconds=0.5)
        server = self._stack.enter_context(EmbeddedServer(settings, app))
        return Desk(task, server.url, database, self._stack)


def main(command: list[str]) -> None:
    """Run the program with its tasks served."""
    own, own_async = Task.run, Task.run_async
    with ExitStack() as stack:
        desks = Desks(stack)

        def run(task: Task[Any], msg: Any = None, turns: int = -1, *more: Any, **options: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                return own(task, msg, turns, *more, **options)
            return desks.run(task, msg, turns, options.get("return_type"))

        async def run_async(task: Task[Any], msg: Any = None, turns: int = -1, *more: Any, **options: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                return await own_async(task, msg, turns, *more, **options)
            return await asyncio.to_thread(desks.run, task, msg, turns, options.get("return_type"))

        stack.enter_context(mock.patch.object(Task, "run", run))
        stack.enter_context(mock.patch.object(Task, "run_async", run_async))
        run_program(command)


if __name__ == "__main__":
    main(sys.argv[1:])
