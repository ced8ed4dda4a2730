"""Return whether a transcript is that of the quiet run, as far as it goes."""

from __future__ import annotations

import itertools
from dataclasses import replace

from tests.chaos.conversations import Conversation
from tests.e2e.transcript import Line, Transcript

_ENDS = "task.finished"
# What a sub-task hands back that was cut short with its callers: the message that was pending in it.
_CUT = ("KILL", "TIMEOUT", "MAX_COST", "MAX_TOKENS")


def untainted(transcript: Transcript) -> Transcript:
    """The same without marks of taint: what a person says of a parked call is tainted, as all that they say."""
    return replace(transcript, lines=tuple(_untainted(line) for line in transcript.lines))


def _untainted(line: Line) -> Line:
    if line.document is None:
        return line
    metadata = {name: value for name, value in line.document["metadata"].items() if name != "tainted"}
    return replace(line, document={**line.document, "metadata": metadata})


def difference(found: Transcript, wanted: Transcript, one: Conversation) -> str | None:
    """Return the difference in words; None where there is none.

    Of a conversation that may be cut short, only what was said before the cut has to be the same: a run that a limit,
    a deadline or a person ended has an end of its own, and a limit may have shortened the model's last words.
    """
    if one.cut is None:
        return None if found == wanted else _first(found, wanted)
    said = [line for line in itertools.takewhile(lambda line: not _is_cut(line), found.lines) if line.what != _ENDS]
    expected = [line for line in wanted.lines if line.what != _ENDS]
    for place, line in enumerate(said):
        if place >= len(expected):
            return f"line {place} is one too many: {line}"
        if line != expected[place]:
            if one.cut in ("cost", "tokens") and _shortened(line, expected[place]):
                return None
            return f"line {place} is {line}, expected {expected[place]}"
    return None


def _is_cut(line: Line) -> bool:
    return ((line.document or {}).get("metadata") or {}).get("status") in _CUT


def _first(found: Transcript, wanted: Transcript) -> str:
    pairs = zip(str(found).split("\n"), str(wanted).split("\n"), strict=False)
    for place, (here, there) in enumerate(pairs):
        if here != there:
            return f"line {place} is {here}, expected {there}"
    return f"{len(found.lines)} lines, expected {len(wanted.lines)}: {str(found)[-500:]}"


def _shortened(line: Line, expected: Line) -> bool:
    """Return whether these are the beginning of the model's expected words."""
    if line.by != "LLM" or line.document is None or expected.document is None:
        return False
    text, whole = line.document.get("content", ""), expected.document.get("content", "")
    return len(text) < len(whole) and whole.startswith(text.rstrip())
