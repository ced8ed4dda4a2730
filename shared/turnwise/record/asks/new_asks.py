"""The row of an ask that is written for the first time."""

from __future__ import annotations

from dataclasses import MISSING, fields
from operator import attrgetter

from turnwise.record.states import AskStatus, passed, status_of_new_ask
from turnwise.record.values.records import AskRecord, Json, NewAsk, RunRecord

_GIVEN = tuple(field.name for field in fields(NewAsk))
_given_of = attrgetter(*_GIVEN)
# By dict, because a constructor of so many fields takes longer than all the rest.
_BLANK: Json = {field.name: field.default for field in fields(AskRecord) if field.default is not MISSING}


def ask_record(ask: NewAsk, run: RunRecord, holder: str | None, now: float) -> AskRecord:
    """Return the ask as it is written: runnable, open for a human's answer, or claimed by the worker `holder`."""
    status = passed(None, status_of_new_ask(ask.responder))
    if holder is not None:
        status = passed(status, AskStatus.LEASED)
    claims = 0 if holder is None else 1
    return AskRecord.of(
        {
            **_BLANK,
            **dict(zip(_GIVEN, _given_of(ask), strict=True)),
            "run_id": run.id,
            "tenant": run.tenant,
            "status": status,
            "attempts": claims,
            "token": claims,
            "worker_id": holder,
            "topups": 0,
            "topup_after": None,
            "deferrals": 0,
            "created_at": now,
            "claimed_at": None if holder is None else now,
            "closed_at": None,
        }
    )
