"""The task that a program runs first, found by running the program up to there."""

from __future__ import annotations

import io
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from turnwise import App, Task

from .program import Program

FILE = "program.json"
NAME = "program"


class _CapturedError(BaseException):
    """Leaves the program; no handler of ordinary errors in it may hold it back."""

    def __init__(self, task: Task[Any]) -> None:
        super().__init__(task.name)
        self.task = task


def run_program(command: Sequence[str]) -> None:
    """Run what `python COMMAND...` would, in this process."""
    if command[0] == "-m":
        sys.argv = list(command[1:])
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = list(command)
    sys.path.insert(0, str(Path(command[0]).resolve().parent))
    runpy.run_path(command[0], run_name="__main__")


def first_task(program: Program) -> Task[Any]:
    """The first task that the program runs, as it is then; the program's human types as far as it takes.

    Raises `RuntimeError` if it runs none.
    """

    def capture(task: Task[Any], *_: object, **__: object) -> None:
        raise _CapturedError(task)

    typed = io.StringIO("".join(f"{line}\n" for line in program.input))
    with (
        mock.patch.object(Task, "run", capture),
        mock.patch.object(Task, "run_async", capture),
        mock.patch.object(sys, "stdin", typed),
        mock.patch.object(sys, "argv", sys.argv),
    ):
        try:
            run_program(program.command)
        except _CapturedError as captured:
            return captured.task
    raise RuntimeError(f"{program.path} runs no task")


def application() -> App:
    """An application of the program that is described in the current directory; each process makes its own."""
    made = App("ported")

    @made.task(name=NAME)
    def build() -> Task[Any]:
        return first_task(Program.model_validate_json(Path(FILE).read_text("utf-8")))

    return made


app = application()
