"""Messages, events and transcripts as lines for people."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from turnwise.cli.text.event_lines import EventLines
from turnwise.cli.text.messages import document_text, money, speaker
from turnwise.cli.text.output import as_json_text
from turnwise.cli.text.run import transcript_lines
from turnwise.models.tokens.usage import LLMTokenUsage
from turnwise.transcripts.numbers import used


def document(content: str = "", sender: str = "LLM", name: str = "", **fields: Any) -> dict[str, Any]:
    return {"content": content, "metadata": {"sender": sender, "sender_name": name}, **fields}


def event(kind: str, task: str = "Triage", **data: Any) -> dict[str, Any]:
    return {"type": kind, "task": task, "turn": 1, "data": data}


# --- messages ---------------------------------------------------------------------------------------------------------


def test_a_text_is_shown_as_it_is() -> None:
    assert document_text(document("Hello {you}")) == "Hello {you}"


def test_no_document_is_no_text() -> None:
    assert document_text(None) == ""


def test_a_tool_is_shown_by_name_and_by_the_fields_that_say_something() -> None:
    tool = {"$tool": "refund", "request": "refund", "purpose": "To refund", "amount": "5", "notes": []}

    assert document_text(document(tool_messages=[tool])) == 'refund(amount="5")'


def test_a_tool_that_a_model_wrote_as_text_looks_the_same() -> None:
    assert document_text(document('{"request": "refund", "amount": 5}')) == "refund(amount=5)"


def test_json_that_is_no_tool_stays_text() -> None:
    assert document_text(document('{"amount": 5}')) == '{"amount": 5}'


def test_a_call_of_a_function_is_shown_like_a_tool() -> None:
    call = {"id": "call_1", "function": {"name": "refund", "arguments": {"amount": 5}}}

    assert document_text(document(oai_tool_calls=[call])) == "refund(amount=5)"


def test_json_of_a_command_controls_no_terminal() -> None:
    assert as_json_text({"é": "\x9b31m\u202e"}) == '{\n  "é": "\\u009b31m\\u202e"\n}'


@pytest.mark.parametrize(("name", "expected"), [("Billing", "Billing (LLM)"), ("", "LLM"), ("LLM", "LLM")])
def test_a_speaker_is_named_once(name: str, expected: str) -> None:
    assert speaker(document(name=name)) == expected


def test_an_unknown_price_is_a_dash_and_not_a_zero() -> None:
    assert (money("0.01"), money(None)) == ("$0.0100", "-")


def test_thousands_of_dollars_are_separated_as_in_the_log_of_a_run() -> None:
    assert money("1234.5") == "$1,234.5000"
    assert used(LLMTokenUsage(prompt_tokens=1, completion_tokens=0, cost=Decimal("1234.5"))).endswith(money("1234.5"))


# --- events -----------------------------------------------------------------------------------------------------------


def test_a_turn_is_told_with_the_usage_that_came_before_it() -> None:
    lines = EventLines()

    assert lines.line(event("usage.settled", prompt_tokens=10, completion_tokens=5, cost="0.002")) is None
    line = lines.line(event("turn.taken", document=document("yes")))

    assert line is not None
    assert str(line) == "Triage  LLM: yes  [15 tokens, $0.0020]"


def test_usage_is_told_with_one_turn_only() -> None:
    lines = EventLines()
    lines.line(event("usage.settled", prompt_tokens=10, completion_tokens=5, cost=None))
    lines.line(event("turn.taken", document=document("yes")))

    line = lines.line(event("turn.taken", document=document("done", sender="Agent")))

    assert line is not None
    assert line.tokens is None


@pytest.mark.parametrize("kind", ["run.accepted", "task.started", "turn.asked", "turn.replied", "turn.none"])
def test_bookkeeping_is_not_told(kind: str) -> None:
    assert EventLines().line(event(kind)) is None


def test_a_turn_that_was_passed_is_not_told() -> None:
    assert EventLines().line(event("turn.taken", document=document("x"), passed=True)) is None


def test_a_try_that_failed_is_told_with_the_wait_for_the_next() -> None:
    line = EventLines().line(event("ask.deferred", error={"message": "503"}, attempt=2, wait=1.94))
    assert line is not None
    assert line.text == "try 2 failed, the next is in 1.9 s: 503"
    assert EventLines().line(event("ask.deferred", waiting_for={"kind": "budget"})) is None


def test_a_failed_run_is_told_with_its_error() -> None:
    line = EventLines().line(event("run.failed", status="ERROR", error={"message": "the tool broke"}))

    assert line is not None
    assert line.text == "ERROR: the tool broke"


# --- transcripts ------------------------------------------------------------------------------------------------------


def test_a_transcript_is_indented_by_task() -> None:
    inner = {"kind": "task", "task": "Triage/Billing", "status": "DONE", "items": [message(1, "paid")]}
    outer = {"kind": "task", "task": "Triage", "status": None, "items": [message(0, "help"), inner]}

    assert list(transcript_lines(outer)) == [
        "Triage",
        "    0  LLM: help",
        "  Triage/Billing (DONE)",
        "      1  LLM: paid",
    ]


def message(turn: int, content: str) -> dict[str, Any]:
    return {"kind": "message", "turn": turn, "document": document(content)}
