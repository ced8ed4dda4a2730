"""The tools that a client is shown: one for each task, and those that continue with a run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from mcp_types import Tool, ToolAnnotations
from pydantic import BaseModel

from turnwise.api.fleet import TaskView
from turnwise.mcp_server.arguments import AnswerArguments, ResultArguments, TaskArguments, input_schema
from turnwise.mcp_server.outcome import CallOutcome

ANSWER, RESULT = "answer", "result"
# Of the names that every client takes: the protocol allows more, but those of some models do not.
_LONGEST = 64
_STRANGE = re.compile(r"[^A-Za-z0-9_-]+")

_ANSWER_TEXT = "Answer the question of a run that waits for a human, and wait for its result. Ask your user first."
_RESULT_TEXT = "Wait for the result of a run that was begun earlier, or see what it waits for."


def tasks_by_tool(tasks: Iterable[TaskView]) -> dict[str, TaskView]:
    """Return the tasks by the names of their tools: their own, with `_` for what a tool's name cannot have.

    Names that come out the same are numbered, in the order of the application.
    """
    named: dict[str, TaskView] = {}
    for task in tasks:
        base = _STRANGE.sub("_", task.name)[:_LONGEST] or "_"
        name, number = base, 1
        while name in named or name in (ANSWER, RESULT):
            number += 1
            name = f"{base[: _LONGEST - 1 - len(str(number))]}_{number}"
        named[name] = task
    return named


def shown(tasks: Iterable[TaskView]) -> list[Tool]:
    """Return the tools of an application with these tasks."""
    return [
        *(_tool(name, task.name, _purpose(task), TaskArguments) for name, task in tasks_by_tool(tasks).items()),
        _tool(ANSWER, "Answer a question", _ANSWER_TEXT, AnswerArguments),
        _tool(RESULT, "Result of a run", _RESULT_TEXT, ResultArguments, read_only=True),
    ]


def _tool(name: str, title: str, description: str, arguments: type[BaseModel], *, read_only: bool = False) -> Tool:
    output: dict[str, Any] = CallOutcome.model_json_schema(mode="serialization")
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=input_schema(arguments),
        output_schema=output,
        annotations=ToolAnnotations(read_only_hint=read_only),
    )


def _purpose(task: TaskView) -> str:
    said = task.description or f"Run the task {task.name} of the application {task.application}."
    if task.keeps_conversation:
        said += " It remembers what was said in the same session_id."
    return said
