"""Reading a run's events into spans: they neither overlap nor leave a gap, whatever the record holds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.record.values.records import EventRecord
from turnwise.timeline.from_events import ENDS, TYPES, Reader
from turnwise.timeline.sentences import duration, sentence
from turnwise.timeline.spans import Item
from turnwise.timeline.sums import Sums
from turnwise.timeline.views import timeline_view


def event(seq: int, kind: str, at: float, **data: Any) -> EventRecord:
    ask = f"ask-{seq}" if kind.endswith(".asked") else None
    return EventRecord(
        run_id="run", seq=seq, type=kind, at=at, path="desk", turn=seq, candidate=0, ask_id=ask, data=data or None
    )


def read(*events: EventRecord, now: float = 0.0) -> list[Item]:
    return list(Reader(now, lambda ask: None).items(events))


def claimed(at: float, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"worker": "w1", "claimed_at": at, "work": {"host": "h1", "pid": 7, "parts": list(parts)}, **more}


def told(items: list[Item]) -> list[tuple[str, str, float]]:
    return [(span.kind, span.name, round(span.seconds, 6)) for item in items for span in item.spans]


ASKED = event(3, "turn.asked", 1.0, queue="llm", responder="LLM")
BEGUN = (event(1, "run.accepted", 0.0), event(2, "task.started", 1.0), ASKED)


def test_a_turn_is_asked_claimed_called_answered_and_moved() -> None:
    part = {"kind": "model", "name": "m", "at": 0.5, "seconds": 2.0, "first": 0.4}
    items = read(
        *BEGUN, event(4, "turn.replied", 8.0, **claimed(4.0, part)), event(5, "run.completed", 9.0, status="DONE")
    )
    assert told(items) == [
        ("move", "", 1.0),
        ("queue", "llm", 3.0),
        ("worker", "h1 (pid 7)", 0.5),
        ("model", "m", 2.0),
        ("worker", "h1 (pid 7)", 1.5),
        ("move", "", 1.0),
    ]
    assert (items[1].answered_at, items[1].moved_at) == (8.0, 9.0)
    assert items[1].attempts[0].calls[0].first == 0.4


def test_a_wait_for_a_limit_within_a_handler_is_the_limits_and_a_models_call_the_tools() -> None:
    parts = (
        {"kind": "tool", "name": "look_up", "at": 0.0, "seconds": 4.0},
        {"kind": "provider", "name": "m", "at": 1.0, "seconds": 1.0},
        {"kind": "model", "name": "m", "at": 2.0, "seconds": 1.0},
    )
    items = read(*BEGUN, event(4, "turn.replied", 5.0, **claimed(1.0, *parts)), event(5, "run.completed", 5.0))
    assert told(items)[1:] == [("tool", "look_up", 1.0), ("provider", "m", 1.0), ("tool", "look_up", 2.0)]


@pytest.mark.parametrize(
    ("waiting_for", "spans"),
    [
        ({"kind": "retry", "agent": "desk", "due_at": 6.0}, [("retry", "desk", 4.0), ("queue", "llm", 2.0)]),
        ({"kind": "budget", "scope": "run", "due_at": 6.0}, [("budget", "run", 4.0), ("queue", "llm", 2.0)]),
        ({"kind": "provider", "model": "m", "due_at": 6.0}, [("provider", "m", 6.0)]),
    ],
)
def test_a_wait_ends_when_it_is_due_and_then_the_queue_begins(waiting_for: Any, spans: list[Any]) -> None:
    put_off = event(4, "ask.deferred", 2.0, waiting_for=waiting_for, **claimed(2.0))
    items = read(*BEGUN, put_off, event(5, "turn.replied", 8.0, **claimed(8.0)), event(6, "run.completed", 8.0))
    assert told(items)[2:] == spans


def test_a_lost_lease_and_a_drained_worker_have_lost_their_work() -> None:
    items = read(
        *BEGUN,
        event(4, "ask.expired", 6.0, worker="w0", claimed_at=2.0),
        event(
            5,
            "ask.released",
            9.0,
            **claimed(7.0, {"kind": "model", "name": "m", "at": 0, "seconds": 2}),
            reason="drained",
        ),
        event(6, "turn.replied", 9.0, **claimed(9.0)),
        event(7, "run.completed", 9.0),
    )
    assert told(items)[1:] == [
        ("queue", "llm", 1.0),
        ("lost", "w0", 4.0),
        ("queue", "llm", 1.0),
        ("lost", "h1 (pid 7)", 2.0),
    ]


def test_a_clock_that_goes_back_takes_no_time() -> None:
    items = read(*BEGUN, event(4, "turn.replied", 0.5, **claimed(0.2)), event(5, "run.completed", 3.0))
    assert told(items) == [("move", "", 1.0), ("move", "", 2.0)]


kinds = st.sampled_from([kind for kind in TYPES if kind not in ("run.accepted", "run.forked")])
times = st.floats(0, 100, allow_nan=False)
parts = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["model", "tool", "provider", "budget", "database", "later"]),
            "name": st.sampled_from(["a", "b"]),
            "at": times,
            "seconds": times,
        }
    ),
    max_size=5,
)
waits = st.fixed_dictionaries({"kind": st.sampled_from(["retry", "budget", "provider", ""]), "due_at": times})
datas = st.fixed_dictionaries(
    {},
    optional={
        "worker": st.just("w1"),
        "claimed_at": times,
        "work": st.fixed_dictionaries({"host": st.just("h"), "pid": st.just(1), "parts": parts}),
        "waiting_for": waits,
        "responder": st.sampled_from(["LLM", "Agent"]),
        "reason": st.sampled_from(["drained", "killed"]),
        "again": st.booleans(),
    },
)


def _end(events: list[EventRecord], now: float) -> float:
    """The latest time up to the run's end, or to now if it has none."""
    latest, end = 0.0, None
    for one in events:
        latest = max(latest, one.at)
        if one.type in ENDS and end is None:
            end = latest
        elif one.type == "run.retried":
            end = None
    return max(latest, now) if end is None else end


@given(st.lists(st.tuples(kinds, times, datas), max_size=25), times)
def test_the_spans_of_any_record_neither_overlap_nor_leave_a_gap(
    record: list[tuple[str, float, dict[str, Any]]], now: float
) -> None:
    events = [event(1, "run.accepted", 5.0)]
    events += [event(no, kind, at, **data) for no, (kind, at, data) in enumerate(record, 2)]
    items, sums = read(*events, now=now), Sums()
    spans = [span for item in items for span in item.spans]
    assert all(span.end > span.start for span in spans)
    assert all(one.end == other.start for one, other in pairwise(spans))
    if spans:
        assert spans[0].start == 5.0
        assert spans[-1].end == _end(events, now)
    for item in items:
        sums.add(item)
    view = timeline_view("run", "desk", "running", sums, items, ended=False, next_after=None)
    assert sum(one.seconds for one in view.shares) == pytest.approx(view.seconds, abs=1e-3)


def test_the_sentence_names_the_largest_parts_and_the_slowest_ask() -> None:
    part = {"kind": "model", "name": "gpt", "at": 0.0, "seconds": 1.0}
    items = read(
        *BEGUN,
        event(4, "turn.replied", 9.0, **claimed(8.0, part)),
        event(5, "turn.asked", 9.0, queue="llm", responder="LLM"),
        event(6, "turn.replied", 10.0, **claimed(9.0, part)),
        event(7, "run.completed", 10.0),
    )
    sums = Sums()
    for item in items:
        sums.add(item)
    assert sentence(sums, ended=True) == (
        "It took 10.0 s: 70 % waiting in the queue llm (7.0 s), 20 % in calls of the model gpt (2.0 s), "
        "10 % in moves (1.0 s). The slowest ask was the model of desk in turn 3: 8.0 s, 7.0 s of it waiting in the "
        "queue llm."
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0004, "0 ms"), (0.25, "250 ms"), (61.2, "61.2 s"), (600, "10 min"), (9_000, "2.5 h"), (259_200, "3.0 days")],
)
def test_durations_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words
