"""The comparison of a transcript with that of a run without failures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from turnwise.testing.simulator.clients import Conversation
from turnwise.testing.simulator.promises import Violation
from turnwise.testing.simulator.record_copy import Row
from turnwise.testing.simulator.simulation import Outcome
from turnwise.testing.transcripts import without_ends

_MARK = re.compile(r',? ?"tainted": (true|false)')
# A person, a deadline or a limit ended the run: what was said before is the same.
_CUT_SHORT = frozenset({"KILL", "TIMEOUT", "MAX_COST", "MAX_TOKENS"})


def differences(
    outcome: Outcome, expected: Mapping[int, Sequence[str]], conversations: Sequence[Conversation]
) -> Iterator[Violation]:
    """A violation for each run whose transcript is another than `expected`, by the number of its conversation."""
    accepted = set(outcome.accepted.values())
    for run_id in outcome.history.runs:
        if run_id not in accepted:
            text = f"the run {run_id} was made, and no client was told of it"
            yield Violation(promise="accepted is kept", sentence=text, run=run_id)
    broken: set[str] = set()
    for number, run_id in sorted(outcome.accepted.items()):
        run = outcome.history.runs.get(run_id)
        if run is None:
            yield Violation(
                promise="accepted is kept", sentence=f"the run {run_id} was accepted, and is gone", run=run_id
            )
            continue
        session = conversations[number].session_id
        if session in broken:
            continue
        said, before = outcome.history.transcript(run_id), list(expected[number])
        if any(event["type"] == "ask.resolved" for event in outcome.history.of_run("events", run_id)):
            # What a person said instead of a handler is marked as a person's words.
            said, before = _unmarked(said), _unmarked(before)
        if _cut_short(run):
            said = without_ends(said)
            before = before[: len(said)]
            if session is not None:
                broken.add(session)  # those after it continue from another conversation
        if said != before:
            yield Violation(promise="same transcript", sentence=_first(run, said, before), run=run_id)


def _unmarked(lines: Sequence[str]) -> list[str]:
    return [_MARK.sub("", line) for line in lines]


def _cut_short(run: Row) -> bool:
    exhausted = (run["error"] or {}).get("code") == "attempts_exhausted"
    return run["status_code"] in _CUT_SHORT or exhausted


def _first(run: Row, said: list[str], expected: list[str]) -> str:
    """Return where the two part, in a sentence."""
    for number, (there, here) in enumerate(zip_longest(expected, said), 1):
        if there != here:
            return (
                f"{run['id']} ({run['status']}, {run['status_code']}, error {run['error']}) differs from line {number} "
                f"of its transcript on:\n      without faults: {there}\n      with them:      {here}"
            )
    return f"{run['id']} has the transcript that was expected"
