"""The checks of the chaos run find what they are for."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from tests.chaos import checks, conversations, ledgers
from tests.chaos.billing import Bill, bills
from tests.chaos.conversations import Conversation
from tests.chaos.faults import Fault, Happened, Kind, plan
from tests.chaos.recovery import measure
from tests.chaos.sameness import difference, untainted
from tests.e2e.transcript import Line, Transcript

_PLAIN = Conversation(case="c1", task="desk", steps=("look",))
_LIMITED = replace(_PLAIN, cut="cost", max_cost=Decimal("0.001"), max_tokens=100)
_CANCELLED = replace(_PLAIN, cut="cancel")


def _line(text: str, status: str | None = None) -> Line:
    document = {"content": text, "metadata": {"status": status} if status else {}}
    return Line(what="turn.taken", task="Desk", turn=0, by="LLM", document=document)


def _transcript(*lines: Line) -> Transcript:
    return Transcript(lines=lines, status_code="DONE", result=None, error=None)


_WHOLE = _transcript(_line("one"), _line("two words"), _line("three"))


def test_a_conversation_that_nothing_cut_short_has_to_be_the_same_to_its_end() -> None:
    assert difference(_WHOLE, _WHOLE, _PLAIN) is None
    assert difference(_transcript(*_WHOLE.lines[:2]), _WHOLE, _PLAIN)


def test_of_one_that_was_cut_short_what_was_said_before_has_to_be_the_same() -> None:
    assert difference(_transcript(*_WHOLE.lines[:2], _line("two words", "KILL")), _WHOLE, _CANCELLED) is None
    assert difference(_transcript(_line("one"), _line("other")), _WHOLE, _CANCELLED)
    assert difference(_transcript(*_WHOLE.lines, _line("four")), _WHOLE, _CANCELLED)


def test_only_a_limit_shortens_what_a_model_says() -> None:
    shortened = _transcript(_line("one"), _line("two w"))
    assert difference(shortened, _WHOLE, _LIMITED) is None
    assert difference(shortened, _WHOLE, _CANCELLED)


def test_what_a_person_said_of_a_parked_call_may_be_tainted() -> None:
    line = replace(_WHOLE.lines[0], document={"content": "one", "metadata": {"tainted": True}})
    tainted = _transcript(line, *_WHOLE.lines[1:])

    assert difference(tainted, _WHOLE, _PLAIN)
    assert difference(untainted(tainted), untainted(_WHOLE), _PLAIN) is None


def test_effects_are_counted_in_the_tools_own_log(tmp_path: Path) -> None:
    log = tmp_path / "tools.jsonl"
    for tool, ref, key in [("pay", "a", "1"), ("pay", "b", "2"), ("pay", "b", "2"), *[("book", "a", "3")] * 2]:
        ledgers.append(str(log), {"tool": tool, "ref": ref, "key": key})
    once, idempotent = checks.doubled(log)
    assert (once.faults, idempotent.faults) == (["b: 2 times"], [])

    ledgers.append(str(log), {"tool": "book", "ref": "a", "key": "4"})
    assert checks.doubled(log)[1].faults == ["a: ['3', '4']"]


def test_limits_are_checked_against_what_the_provider_bills(tmp_path: Path) -> None:
    bill = tmp_path / "bill.jsonl"
    ledgers.append(str(bill), {"case": "c1", "prompt_tokens": 60, "completion_tokens": 40})
    assert checks.overspent([_LIMITED], bills(bill)).holds
    ledgers.append(str(bill), {"case": "c1", "prompt_tokens": 800, "completion_tokens": 100})
    assert bills(bill)["c1"] == Bill(calls=2, prompt_tokens=860, completion_tokens=140)
    assert len(checks.overspent([_LIMITED], bills(bill)).faults) == 2


def test_a_recovery_counts_from_the_last_fault_that_held_a_run_up() -> None:
    def happened(kind: Kind, began: float, over: float, run: str) -> Happened:
        fault = Fault(kind=kind, target="", seconds=0, overlaps=False)
        return Happened(fault=fault, began=began, over=over, affected={run: 1})

    faults = [happened("kill", 10, 10, "a"), happened("database stop", 12, 15, "a"), happened("kill", 13, 13, "b")]
    steps = [("a", 9.0), ("a", 16.0), ("b", 18.0)]
    events = [("b", 14.0, "ask.expired"), *((run, at, "turn.asked") for run, at in steps)]
    kills, _, outages, _ = measure(faults, events)

    assert [(one.run, one.seconds) for one in kills.samples] == [("b", 5.0)]
    assert [(one.run, one.seconds) for one in outages.samples] == [("a", 1.0)]


def test_a_run_that_waits_for_the_provider_is_not_held_up() -> None:
    fault = Fault(kind="kill", target="", seconds=0, overlaps=False)
    events = [("a", 9.0, "ask.deferred provider"), ("b", 9.0, "ask.deferred retry"), ("a", 50.0, "x"), ("b", 12.0, "x")]

    kills, *_ = measure([Happened(fault=fault, began=10, over=10, affected={"a": 1, "b": 1})], events)

    assert [(one.run, one.seconds) for one in kills.samples] == [("b", 2.0)]


@pytest.mark.parametrize("seed", range(3))
def test_the_same_seed_makes_the_same_plan(seed: int) -> None:
    names = ["llm-1", "agent-1"]
    assert conversations.make(50, seed) == conversations.make(50, seed)
    first, second = (plan(seed, names, 3, ("kill", "cut")) for _ in range(2))
    faults = [next(first) for _ in range(20)]
    assert faults == [next(second) for _ in range(20)]
    assert {(fault.kind, fault.target) for fault in faults[:3] if fault.kind == "kill"} == {
        ("kill", name) for name in names
    }
