"""The conditions at the end of a chaos run; each check yields the cases in which one does not hold."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos import ledgers, words
from tests.chaos.billing import Bill
from tests.chaos.conversations import Conversation
from tests.chaos.people import in_order
from tests.chaos.record import Record
from tests.chaos.sameness import difference, untainted
from tests.e2e.transcript import Transcript, from_events
from tests.support.client_views import numbered

from turnwise.cli.text.messages import as_json
from turnwise.client import Client

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A check and where it fails: nowhere, if all is well. What is no `fault` is only told."""

    what: str
    faults: Sequence[str]
    fault: bool = True

    @property
    def holds(self) -> bool:
        """Return whether it says nothing bad."""
        return not (self.fault and self.faults)


@dataclass(frozen=True, kw_only=True)
class Played:
    """A run that was played: its events and its last view."""

    conversation: Conversation
    run: Json
    events: Sequence[Json]


def fetch(client: Client, conversations: Sequence[Conversation], runs: Mapping[str, str]) -> list[Played]:
    """All runs that ended, over HTTP."""
    found = []
    for one, run_id in in_order(conversations, runs):
        run = client.run(run_id)
        if run.finished_at is not None:
            events = [as_json(event) for event in numbered(client.events(run_id))]
            found.append(Played(conversation=one, run=as_json(run), events=events))
    return found


def lost(conversations: Sequence[Conversation], runs: Mapping[str, str], played: Sequence[Played]) -> Finding:
    """Accepted runs that did not end, and conversations that were never accepted."""
    ended = {one.conversation.case for one in played}
    faults = [f"{one.case} ({runs.get(one.case, 'never accepted')})" for one in conversations if one.case not in ended]
    return Finding(what="runs lost", faults=faults)


def ended_otherwise(played: Sequence[Played], wanted: Mapping[str, Transcript]) -> Finding:
    """Runs that nothing should have cut short, and that did not end as in the quiet run."""
    faults = [
        f"{one.conversation.case} {one.run['id']} ended {one.run['status_code']}: {one.run['error']}"
        for one in played
        if one.conversation.cut is None and one.run["status_code"] != _status(wanted, one.conversation.case)
    ]
    return Finding(what="runs that ended otherwise", faults=faults)


def _status(wanted: Mapping[str, Transcript], case: str) -> str:
    return wanted[case].status_code if case in wanted else "DONE"


def transcripts(played: Sequence[Played], wanted: Mapping[str, Transcript]) -> Finding:
    """Transcripts that differ from those of the quiet run."""
    faults = []
    for one in played:
        case = one.conversation.case
        if case not in wanted:
            continue
        seen, expected = from_events(one.events, one.run), wanted[case]
        if any(event["type"] == "ask.resolved" for event in one.events):
            seen, expected = untainted(seen), untainted(expected)
        if found := difference(seen, expected, one.conversation):
            faults.append(f"{case} {one.run['id']}: {found}")
    return Finding(what="transcripts that differ", faults=faults)


def gaps(played: Sequence[Played]) -> Finding:
    """Runs whose event numbers have gaps, or whose stream ended too early."""
    faults = [
        f"{one.conversation.case} {one.run['id']}: {[event['seq'] for event in one.events]}"
        for one in played
        if [event["seq"] for event in one.events] != list(range(1, one.run["last_event"] + 1))
    ]
    return Finding(what="runs with gaps in their events", faults=faults)


def doubled(tool_log: Path) -> list[Finding]:
    """Calls of `once` tools that happened twice, and of idempotent ones that came under two keys."""
    keys: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in ledgers.read(tool_log):
        keys[line["tool"], line["ref"]].append(line["key"])
    twice = [f"{ref}: {len(found)} times" for (tool, ref), found in keys.items() if tool == "pay" and len(found) > 1]
    other = [
        f"{ref}: {sorted(set(found))}" for (tool, ref), found in keys.items() if tool == "book" and len(set(found)) > 1
    ]
    return [
        Finding(what="effects doubled (once)", faults=twice),
        Finding(what="effects under two keys (idempotent)", faults=other),
    ]


def missing_effects(played: Sequence[Played], tool_log: Path) -> Finding:
    """Calls that a transcript says are done, and that never happened outside."""
    happened = {(line["tool"], line["ref"]) for line in ledgers.read(tool_log)}
    faults = []
    for one in played:
        for tool, ref in _claimed(one):
            if (tool, ref) not in happened:
                faults.append(f"{tool} of {ref}")
    return Finding(what="effects that a transcript invents", faults=faults)


def _claimed(one: Played) -> list[tuple[str, str]]:
    said = " ".join(
        str((event["data"]["document"] or {}).get("content", ""))
        for event in one.events
        if event["type"] == "turn.taken" and event["data"].get("responder") == "Agent"
    )
    return [(tool, ref) for tool, ref in words.results_in(said)]


def overspent(conversations: Sequence[Conversation], billed: Mapping[str, Bill]) -> Finding:
    """Runs for which the provider bills more than their limit."""
    faults = []
    for one in conversations:
        bill = billed.get(one.case, Bill())
        if one.max_cost is not None and bill.cost > one.max_cost:
            faults.append(f"{one.case}: billed {bill.cost} USD, the limit is {one.max_cost}")
        if one.max_tokens is not None and bill.tokens > one.max_tokens:
            faults.append(f"{one.case}: billed {bill.tokens} tokens, the limit is {one.max_tokens}")
    return Finding(what="limits overspent", faults=faults)


def books(played: Sequence[Played], billed: Mapping[str, Bill], record: Record) -> list[Finding]:
    """Runs that say they used less than their provider bills.

    Where a limit applies, calls are reserved before they are made, so one that was lost is in the books. Where none
    does, nobody knows of a call whose worker died in it, or whose answer broke off: that is told, and no fault.
    """
    used = record.runs()
    limited, others = list[str](), list[str]()
    for one in played:
        row, bill = used[one.run["id"]], billed.get(one.conversation.case, Bill())
        if row["cost"] < bill.cost or row["tokens"] < bill.tokens:
            counted = f"{row['cost']} USD, {row['tokens']} tokens"
            found = limited if one.conversation.limited else others
            found.append(f"{one.conversation.case} {row['id']}: {counted}; billed {bill.cost} USD, {bill.tokens}")
    return [
        Finding(what="costs of runs with a limit that are not in the books", faults=limited),
        Finding(what="costs of runs without one that are not in the books (no fault)", faults=others, fault=False),
    ]


def promises(record: Record) -> Finding:
    """Return the findings of `turnwise.testing` in the record: events, replies, usage, leases and due work."""
    return Finding(what="promises that the record breaks", faults=record.broken_promises())


def left_behind(record: Record) -> list[Finding]:
    """Return what is still reserved or due; claims are among the promises."""
    return [Finding(what=what, faults=faults) for what, faults in record.left_behind().items()]


def endings(played: Sequence[Played]) -> Counter[str]:
    """Return the number of runs by their end."""
    return Counter(f"{one.run['status']} {one.run['status_code']}" for one in played)
