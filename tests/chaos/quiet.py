"""The quiet run: the same conversations in this process, one after another, without limits and without faults."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from unittest import mock

from tests.chaos import ledgers, model, words
from tests.chaos.application import app
from tests.chaos.billing import Bill, bills
from tests.chaos.conversations import Conversation
from tests.chaos.fake_model import FakeModel
from tests.e2e.seen import Seen
from tests.e2e.transcript import Transcript

from turnwise import Task

# What a limit in money or tokens leaves of what the conversation takes without one.
_PART = 0.6


def play_all(conversations: Iterable[Conversation], folder: Path) -> tuple[dict[str, Transcript], dict[str, Bill]]:
    """By case: the transcript, and what the model's provider bills for it."""
    played: dict[str, Transcript] = {}
    with FakeModel(folder, pace=0) as served:
        here = {"OPENAI_BASE_URL": served.base_url, "OPENAI_API_KEY": "none", ledgers.TOOL_LOG: "", model.PACE: "0"}
        with mock.patch.dict(os.environ, here):
            for _, together in itertools.groupby(conversations, lambda one: one.session or one.case):
                played.update(_play(list(together)))
        return played, bills(served.bill)


def with_limits(conversations: Iterable[Conversation], billed: Mapping[str, Bill]) -> list[Conversation]:
    """The conversations with limits that bite, made from what they cost without."""
    return [_limited(one, billed[one.case]) for one in conversations]


def _limited(one: Conversation, bill: Bill) -> Conversation:
    if one.cut == "cost":
        return replace(one, max_cost=(bill.cost * Decimal(str(_PART))).quantize(Decimal("0.000001")))
    if one.cut == "tokens":
        return replace(one, max_tokens=int(bill.tokens * _PART))
    return one


def _play(together: list[Conversation]) -> Iterable[tuple[str, Transcript]]:
    """Those of a session with the same task; a single one with a task of its own."""
    root = app.build(together[0].task)
    for one in together:
        yield one.case, _run(root, one)


def _run(root: Task, one: Conversation) -> Transcript:
    seen = Seen()
    for task in root.tree().tasks.values():
        task.agent.callbacks.get_user_response = lambda *_, **__: words.yes(one.case)
    with mock.patch("turnwise.tasks.task.LocalRun", seen.run_class()):
        root.run(one.message)
    return seen.finished()
