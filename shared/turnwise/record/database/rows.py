"""From rows to records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, get_args, get_type_hints

import sqlalchemy as sa

from turnwise.base.json_value import JsonValue
from turnwise.base.waits import wait_of
from turnwise.record.asks.parked_reason import parked_reason
from turnwise.record.database import schema
from turnwise.record.states import AskStatus, RunStatus
from turnwise.record.values.fork_origin import fork_origin
from turnwise.record.values.kept_errors import kept_error
from turnwise.record.values.outcomes import Receipt
from turnwise.record.values.records import AgentRecord, AskRecord, Json, ReplyRecord, RunRecord

T = TypeVar("T")

RUN = tuple(schema.runs.c)
ASK = tuple(schema.asks.c)
REPLY = tuple(schema.replies.c)
AGENT = tuple(schema.agent_states.c)[1:]
_AT_STORE = ("run_id", "ask_id", "token", "at")
RECEIPT = tuple(column for column in schema.receipts.c if column.name not in _AT_STORE)


# Columns that are older than their words, and keep their names for the sake of running processes: docs/glossary.md.
_FIELD_OF = {"try_no": "candidate"}
_COLUMN_OF = {field: column for column, field in _FIELD_OF.items()}


def names(columns: Sequence[sa.Column[Any]]) -> tuple[str, ...]:
    """The columns' names, in order."""
    return tuple(column.name for column in columns)


def field_names(columns: Sequence[sa.Column[Any]]) -> tuple[str, ...]:
    """The names of the columns' fields in records, in order."""
    return tuple(_FIELD_OF.get(name, name) for name in names(columns))


RUN_NAMES, _ASK, _REPLY, _AGENT, _RECEIPT = names(RUN), field_names(ASK), names(REPLY), names(AGENT), names(RECEIPT)


def run_of(row: Sequence[Any]) -> RunRecord:
    """A run from the values of `RUN`."""
    values = dict(zip(RUN_NAMES, row, strict=False))
    values["status"] = RunStatus(values["status"])
    values["waiting_for"] = wait_of(values["waiting_for"])
    values["error"] = kept_error(values["error"])
    values["forked_from"] = fork_origin(values["forked_from"])
    return RunRecord.of(values)


def ask_of(row: Sequence[Any]) -> AskRecord:
    """An ask from the values of `ASK`."""
    values = dict(zip(_ASK, row, strict=False))
    values["status"] = AskStatus(values["status"])
    if values["parked"] is not None:
        values["parked"] = parked_reason(values["parked"])
    return AskRecord.of(values)


def reply_of(row: Sequence[Any]) -> ReplyRecord:
    """A reply from the values of `REPLY`."""
    values = dict(zip(_REPLY, row, strict=False))
    values["error"] = kept_error(values["error"])
    return ReplyRecord(**values)


def agent_of(row: Sequence[Any]) -> AgentRecord:
    """An agent from the values of `AGENT`."""
    return AgentRecord.of(dict(zip(_AGENT, row, strict=False)))


def receipt_of(row: Sequence[Any]) -> Receipt:
    """A receipt from the values of `RECEIPT`."""
    return Receipt(**dict(zip(_RECEIPT, row, strict=False)))


def as_row(record: Any, **more: Any) -> Json:
    """A record's fields as a row to be written, `more` added; values are not copied."""
    columns, values_of, typed = _plan(record.__class__)
    row: Json = dict(zip(columns, values_of(record), strict=True))
    for name in typed:
        row[name] = in_row(row[name])
    row.update(more)
    return row


@cache
def _plan(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]], tuple[str, ...]]:
    """Return the columns of a kind of record, what gives the values of all its fields, and which may be typed."""
    hints = get_type_hints(kind)
    named = [field.name for field in fields(kind)]
    typed = tuple(_COLUMN_OF.get(name, name) for name in named if _may_be_typed(hints[name]))
    return tuple(_COLUMN_OF.get(name, name) for name in named), attrgetter(*named), typed


def _may_be_typed(hint: Any) -> bool:
    if hint is Any or (isinstance(hint, type) and issubclass(hint, JsonValue)):
        return True
    return any(_may_be_typed(inner) for inner in get_args(hint))


def in_row(value: Any) -> Any:
    """A field of a record as its column has it: JSON for a typed value."""
    return value.as_json() if isinstance(value, JsonValue) else value
