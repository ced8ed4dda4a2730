"""The course of a served run, from its events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnwise import Entity
from turnwise.messages.return_value import value_of_type
from turnwise.messages.wire import decode_document
from turnwise.tasks.tree import TaskTree

from .observer import observed_message, observed_result
from .record import ObservedError, ObservedMessage, ObservedRun

Json = dict[str, Any]


def observed_run(tree: TaskTree, events: Sequence[Json], run: Json, return_type: Any) -> ObservedRun:
    """The run as it is compared; `events` and `run` are as the API shows them."""
    registry = tree.registry()
    taken = tuple(_message(tree, event) for event in events if event["type"] == "turn.taken")
    ends = tuple((_name(event), event["data"]["status"]) for event in events if event["type"] == "task.finished")
    # A session keeps nothing of a run that did not complete, where in one process the agents know of it.
    forgotten = run["status"] != "completed" and not tree.root.restart
    if error := run["error"]:
        return ObservedRun(taken=taken, ends=ends, error=_error(error), forgotten=forgotten)
    result: Any = decode_document(run["result"]["document"], registry) if run["result"] else None
    typed = return_type is not None and result is not None
    if typed:
        result = value_of_type(result, return_type)
    return ObservedRun(taken=taken, ends=ends, result=observed_result(result, typed), forgotten=forgotten)


def _message(tree: TaskTree, event: Json) -> ObservedMessage:
    data = event["data"]
    responder = Entity.named(data["responder"]) or tree.tasks[event["task"]].sub_task_named(data["responder"])
    assert responder is not None, f"{event['task']} has no responder {data['responder']}"
    return observed_message(_name(event), responder, decode_document(data["document"], tree.registry()))


def _name(event: Json) -> str:
    return str(event["task"]).rsplit("/", 1)[-1]


def _error(error: Json) -> ObservedError:
    # Of the types that an error derives from, the record keeps none.
    return ObservedError(types=(error["type"], "Exception"), detail=str(error))
