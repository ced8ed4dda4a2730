"""Errors of the record: the JSON that is kept, to the letter."""

from __future__ import annotations

import json

import pytest

from turnwise.observability.redaction import MOST_TOLD
from turnwise.record.values.kept_errors import CodedError, KeptError, RaisedError, RefusedCall, RunError
from turnwise.serving.moves.run_end import error_record

ODD = "a \0 b\ud800"
# As earlier versions wrote them.
_KEPT: list[tuple[RunError, str]] = [
    (RaisedError(type="InfiniteLoopException", message="again"), '{"type":"InfiniteLoopException","message":"again"}'),
    (
        RaisedError(type="ValueError", message="no", place="desk:agent", line="f (a.py:1)", tool="pay", code="usage"),
        '{"type":"ValueError","message":"no","place":"desk:agent","line":"f (a.py:1)","tool":"pay","code":"usage"}',
    ),
    (
        RaisedError(type="T", message="no", place="desk:llm", kind="timeout", of_model=True, version="2"),
        '{"type":"T","message":"no","place":"desk:llm","kind":"timeout","model":null,"version":"2"}',
    ),
    (
        RaisedError(type="T", message="no", place="desk:llm", kind="timeout", model="m"),
        '{"type":"T","message":"no","place":"desk:llm","kind":"timeout","model":"m"}',
    ),
    (RaisedError(type="T", message="no", kind="timeout"), '{"type":"T","message":"no","kind":"timeout"}'),
    (
        CodedError(type="ModelUnavailableError", code="model_unavailable", kind="unavailable", message="away"),
        '{"type":"ModelUnavailableError","code":"model_unavailable","kind":"unavailable","message":"away"}',
    ),
    (
        CodedError(type="OutcomeUnknown", code="unknown_outcome", message="who knows", place="desk", tool=""),
        '{"type":"OutcomeUnknown","code":"unknown_outcome","message":"who knows","place":"desk","tool":""}',
    ),
    (
        CodedError(code="cancelled", message="cancelled: lost", place="desk"),
        '{"code":"cancelled","message":"cancelled: lost","place":"desk"}',
    ),
    (
        RefusedCall(type="LimitReachedError", message="no", limit="cost", scope="run"),
        '{"type":"LimitReachedError","message":"no","limit":"cost","scope":"run","value":null,"used":null,"why":null}',
    ),
    (KeptError(found={"message": "of 0.1", "b": 1}), '{"message":"of 0.1","b":1}'),
]


@pytest.mark.parametrize(("error", "text"), _KEPT)
def test_an_error_is_kept_in_these_bytes(error: RunError, text: str) -> None:
    assert json.dumps(error.as_json(), separators=(",", ":")) == text


@pytest.mark.parametrize(
    "error",
    [
        RaisedError(type="T", message=ODD, place=ODD),
        CodedError(code="c", message=ODD, place=ODD),
        RefusedCall(type="T", message=ODD, limit="cost", scope=ODD),
        KeptError(found={"message": ODD, "place": ODD, "attempts": []}),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_text_of_an_error_has_what_postgresql_cannot_read_out_of_json(error: RunError) -> None:
    texts = [text for text in error.as_json().values() if isinstance(text, str) and len(text) > 4]

    assert texts == ["a \ufffd b?"] * 2


def test_what_waits_for_an_error_shows_it_in_short() -> None:
    error = RaisedError(type="T", message="no", place="desk", line="f (a.py:1)")

    assert error.shown() == {"type": "T", "message": "no"}
    assert list(RaisedError(type="T", message="no", code="c").shown()) == ["type", "code", "message"]
    assert RaisedError(type="T", message=ODD).shown()["message"] == "a \ufffd b?"


def test_of_an_error_that_quotes_a_whole_document_the_beginning_is_kept() -> None:
    kept = error_record(ValueError("cannot read sk-abcdef123456: " + "a-" * 1_000_000), place="desk:agent")

    assert kept.message.startswith("cannot read sk-***: a-a-")
    assert MOST_TOLD - 100 < len(kept.message) <= MOST_TOLD + 1
