"""The result of a run whose human left the terminal.

The rules take a word to quit with as the last message, and so as the result. That holds in served runs and for
callbacks, where a program reads it. At the terminal the word ends the run, and is nothing that a caller asked for.
"""

from __future__ import annotations

from dataclasses import replace

from turnwise.machine.facts import Facts
from turnwise.machine.result import task_result
from turnwise.machine.spec import TaskSpec
from turnwise.machine.state import TaskState
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity, StatusCode
from turnwise.messages.signals import USER_QUIT_STRINGS


def without_leaving(result: ChatDocument, spec: TaskSpec, state: TaskState, facts: Facts) -> ChatDocument | None:
    """Return the result that the root would have had with the last answer before its human left.

    None if no one had answered. A result that is not a word to quit with stays as it is.
    """
    if not _leaves(result):
        return result
    last = state.pending
    while last is not None and (_leaves(last) or _typed(last)):
        last = last.parent
    if last is None:
        return None
    return task_result(spec, replace(state, pending=last), facts, result.metadata.status or StatusCode.USER_QUIT)


def _leaves(doc: ChatDocument) -> bool:
    """Return whether the text only ends the task; of DONE the result has an empty text."""
    text = doc.content.strip()
    return doc.metadata.sender is Entity.USER and not doc.tool_messages and (not text or text in USER_QUIT_STRINGS)


def _typed(doc: ChatDocument) -> bool:
    """Return whether a human said it; what a sub-task says in its human's name has the sub-task's name on it."""
    return doc.metadata.sender is Entity.USER and not doc.metadata.sender_name
