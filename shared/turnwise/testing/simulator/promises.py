"""The promises of a record of runs, checked row by row once nothing works on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

from turnwise.record.budgets.usage_tally import uncounted_rows
from turnwise.record.store import Store
from turnwise.testing.simulator.record_copy import History, Row, shown

ENDED = ("completed", "failed", "cancelled")
_LAST = tuple(f"run.{status}" for status in ENDED)
_USED = ("calls", "unpriced_calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost")


@dataclass(frozen=True, kw_only=True)
class Violation:
    """A promise that a record breaks: which one, a sentence, the run, and its events around the place."""

    promise: str
    sentence: str
    run: str | None = None
    events: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([f"{self.promise}: {self.sentence}", *(f"    {line}" for line in self.events)])


def check(record: Store | History, *, quiet: bool = True) -> list[Violation]:
    """Return what a record breaks of its promises; an empty list if it keeps them.

    `quiet`: nothing works on it, so that nothing may be held or due. Without it, only what has to be true at
    every moment is checked.
    """
    history = record if isinstance(record, History) else History.of(record)
    checks = _ALWAYS + _IN_THE_END if quiet else _ALWAYS
    found = list(budgets_kept(history, quiet=quiet))
    if quiet:
        found += days_counted(history)
    for run in history.runs.values():
        for promise in checks:
            found += promise(history, run)
    return found


Promise = Callable[[History, Row], Iterator[Violation]]


def numbered(history: History, run: Row) -> Iterator[Violation]:
    """Events are numbered without gaps, and in the order of time."""
    events = history.of_run("events", run["id"])
    numbers = [event["seq"] for event in events]
    if numbers != list(range(1, run["last_seq"] + 1)):
        yield _found(history, run, "order", f"the events of {run['id']} are {numbers}, its last is {run['last_seq']}")
    for before, after in pairwise(events):
        if after["at"] < before["at"]:
            text = f"event {after['seq']} of {run['id']} is older than the one before it"
            yield _found(history, run, "order", text, after["seq"])


def ended_once(history: History, run: Row) -> Iterator[Violation]:
    """A run that has ended says so in its last event, and only there."""
    events = history.of_run("events", run["id"])
    ends = [event for event in events if event["type"] in _LAST]
    again = sum(event["type"] == "run.retried" for event in events)
    if run["status"] in ENDED:
        if not events or events[-1]["type"] != f"run.{run['status']}":
            last = events[-1]["type"] if events else "nothing"
            yield _found(history, run, "accepted is kept", f"{run['id']} is {run['status']}, its last event is {last}")
        if len(ends) != again + 1:
            yield _found(history, run, "accepted is kept", f"{run['id']} has ended {len(ends)} times")
    elif len(ends) != again:
        yield _found(history, run, "accepted is kept", f"{run['id']} has ended, and is {run['status']}")


def one_reply(history: History, run: Row) -> Iterator[Violation]:
    """Each ask has at most one accepted reply, told once each time it was asked; one that is answered has it."""
    asks = {ask["id"]: ask for ask in history.of_run("asks", run["id"])}
    accepted = Counter(reply["ask_id"] for reply in history.of_run("replies", run["id"]) if reply["accepted"])
    told = _told(history, run)
    for ask_id, ask in asks.items():
        if accepted[ask_id] > 1 or told[ask_id] > 1:
            text = f"the ask {ask_id} has {accepted[ask_id]} accepted replies, {told[ask_id]} of them told"
            yield _found(history, run, "one ask, one reply", text, _place(history, run, ask_id))
        if ask["status"] == "answered" and not accepted[ask_id]:
            text = f"the ask {ask_id} is answered, and no reply was accepted"
            yield _found(history, run, "one ask, one reply", text, _place(history, run, ask_id))
    for ask_id in set(accepted) - set(asks):
        yield _found(history, run, "one ask, one reply", f"there is a reply to {ask_id}, which was never asked")


def _told(history: History, run: Row) -> Counter[str]:
    """Return how often a reply to each ask was told, at most, from one retry that asked it again to the next."""
    most, since = Counter[str](), Counter[str]()
    for event in history.of_run("events", run["id"]):
        ask_id = event["ask_id"]
        if event["type"] == "run.retried" and event["data"]["again"]:
            since[ask_id] = 0
        elif event["type"] in ("turn.replied", "human.answered"):
            since[ask_id] += 1
            most[ask_id] = max(most[ask_id], since[ask_id])
    return most


def asked_once(history: History, run: Row) -> Iterator[Violation]:
    """A place in a conversation is asked once: a move that was made twice would ask or take twice."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for event in history.of_run("events", run["id"]):
        if event["type"] in ("turn.asked", "human.asked"):
            seen[event["ask_id"]] += 1
    for ask_id, times in seen.items():
        if times > 1:
            text = f"the ask {ask_id} was asked {times} times"
            yield _found(history, run, "one ask, one reply", text, _place(history, run, str(ask_id)))


def counted(history: History, run: Row) -> Iterator[Violation]:
    """A run's usage is that of all its replies, those that were discarded included."""
    replies = history.of_run("replies", run["id"])
    for name in ("prompt_tokens", "completion_tokens", "calls"):
        used = sum((reply["usage"] or {}).get(name, 0) for reply in replies)
        if run[name] < used:
            text = f"{run['id']} counts {run[name]} {name}, its replies used {used}"
            yield _found(history, run, "no overspend", text)
    cost = sum((reply["cost"] or Decimal(0) for reply in replies), Decimal(0))
    if run["cost"] < cost:
        yield _found(history, run, "no overspend", f"{run['id']} counts {run['cost']} USD, its replies cost {cost}")


def within_limits(history: History, run: Row) -> Iterator[Violation]:
    """A run has spent no more than it may; a limit of 0 is none."""
    tokens = run["prompt_tokens"] + run["completion_tokens"]
    if run["max_cost"] and run["cost"] > run["max_cost"]:
        yield _found(history, run, "no overspend", f"{run['id']} cost {run['cost']} USD of {run['max_cost']}")
    if run["max_tokens"] and tokens > run["max_tokens"]:
        yield _found(history, run, "no overspend", f"{run['id']} used {tokens} tokens of {run['max_tokens']}")


def reserved_first(history: History, run: Row) -> Iterator[Violation]:
    """A call uses no more than was reserved for it."""
    for row in history.of_run("reservations", run["id"]):
        if (row["settled_tokens"] or 0) > row["tokens"]:
            text = f"call {row['call_no']} of {row['ask_id']} used {row['settled_tokens']} tokens of {row['tokens']}"
            yield _found(history, run, "no overspend", text, _place(history, run, row["ask_id"]))


def settled(history: History, run: Row) -> Iterator[Violation]:
    """Return what was reserved for a call is settled, whatever became of the call, and the run counts all of it."""
    rows = history.of_run("reservations", run["id"])
    for row in rows:
        if row["settled_at"] is None:
            text = f"what call {row['call_no']} of {row['ask_id']} reserved was never settled"
            yield _found(history, run, "no overspend", text, _place(history, run, row["ask_id"]))
    tokens = sum(row["settled_tokens"] or 0 for row in rows)
    if run["prompt_tokens"] + run["completion_tokens"] < tokens:
        counted = run["prompt_tokens"] + run["completion_tokens"]
        yield _found(history, run, "no overspend", f"{run['id']} counts {counted} tokens, its calls used {tokens}")


def budgets_kept(history: History, *, quiet: bool) -> Iterator[Violation]:
    """No session and no tenant has spent, or reserved, more than it may; in the end nothing is reserved."""
    for row in history.rows("budgets"):
        name = f"{row['scope']} {row['scope_id']}"
        for what in ("cost", "tokens"):
            limit, taken = row[f"limit_{what}"], row[f"spent_{what}"] + row[f"reserved_{what}"]
            if limit and taken > limit:
                yield Violation(promise="no overspend", sentence=f"{name} took {taken} {what} of {limit}")
            if quiet and row[f"reserved_{what}"]:
                left = row[f"reserved_{what}"]
                yield Violation(promise="no overspend", sentence=f"{name} still has {left} {what} reserved")


def days_counted(history: History) -> Iterator[Violation]:
    """The sums of days have all that the runs of a task have used, once; those of deleted runs stay in them."""
    used, summed = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    for run in history.runs.values():
        for name in _USED:
            used[run["tenant"], run["task"], name] += run[name]
    for row in [*history.rows("usage_days"), *_uncounted(history)]:
        for name in _USED:
            summed[row["tenant"], row["task"], name] += row[name]
    deleted = bool(history.rows("purged_usage"))
    for tenant, task, name in sorted(used | summed):
        place = (tenant, task, name)
        if summed[place] < used[place] or (summed[place] > used[place] and not deleted):
            text = f"the days of {tenant} count {summed[place]} {name} for {task}, its runs {used[place]}"
            yield Violation(promise="no overspend", sentence=text)


def _uncounted(history: History) -> Iterator[Row]:
    for run in history.runs.values():
        for row in uncounted_rows(run.get("uncounted")):
            yield row | {"tenant": run["tenant"], "task": run["task"]}


def nothing_held(history: History, run: Row) -> Iterator[Violation]:
    """Nothing is leased or due, and a run that has ended left nothing open."""
    for ask in history.of_run("asks", run["id"]):
        place = _place(history, run, ask["id"])
        if ask["status"] == "leased":
            yield _found(history, run, "nothing left", f"{ask['id']} is held by {ask['worker_id']}", place)
        elif ask["status"] in ("runnable", "open", "parked") and run["status"] in ENDED:
            text = f"{run['id']} is {run['status']}, and {ask['id']} is {ask['status']}"
            yield _found(history, run, "nothing left", text, place)


def goes_on(history: History, run: Row) -> Iterator[Violation]:
    """A run that has not ended waits for something outside: a human, a budget, a parked call, a pause, another run."""
    if run["status"] in ENDED:
        return
    cause = (run["waiting_for"] or {}).get("kind")
    if cause == "human" and any(ask["status"] == "open" for ask in history.of_run("asks", run["id"])):
        return
    if cause in ("budget", "parked", "session", "version") or _is_paused(history, run):
        return
    text = f"{run['id']} is {run['status']}, waits for {run['waiting_for']}, and nothing makes it go on"
    yield _found(history, run, "accepted is kept", text, run["last_seq"])


def _is_paused(history: History, run: Row) -> bool:
    """Return whether a pause holds a run, or one of its asks."""
    held = {("task", run["task"]), ("tenant", run["tenant"])}
    held |= {("queue", ask["queue"]) for ask in history.of_run("asks", run["id"]) if ask["status"] == "runnable"}
    return any(row["resumed_at"] is None and (row["kind"], row["name"]) in held for row in history.rows("pauses"))


_ALWAYS: tuple[Promise, ...] = (numbered, ended_once, one_reply, asked_once, counted, within_limits, reserved_first)
_IN_THE_END: tuple[Promise, ...] = (nothing_held, goes_on, settled)


def _found(history: History, run: Row, promise: str, sentence: str, seq: int | None = None) -> Violation:
    events = history.of_run("events", run["id"])
    near = history.events_around(run["id"], seq) if seq is not None else tuple(shown(event) for event in events[-5:])
    return Violation(promise=promise, sentence=sentence, run=run["id"], events=near)


def _place(history: History, run: Row, ask_id: str) -> int | None:
    """The number of the last event about an ask."""
    about = [event["seq"] for event in history.of_run("events", run["id"]) if event["ask_id"] == ask_id]
    return about[-1] if about else None
