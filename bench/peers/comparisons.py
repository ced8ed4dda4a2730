"""Turnwise and the peers that promise about the same, loop by loop: who is ahead, told either way."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.peers.document import Findings
from bench.peers.roster import BY_NAME

# A way of running Turnwise, and the peers that keep their state in the same kind of place.
_ALIKE = {
    "turnwise-embedded-normal": ("langgraph-sqlite", "langgraph-sqlite-async", "langgraph-sqlite-plain"),
    "turnwise-embedded-full": ("langgraph-sqlite-full", "dbos-sqlite"),
    "turnwise-distributed": (
        "langgraph-postgres",
        "langgraph-postgres-async",
        "langgraph-postgres-plain",
        "dbos-postgres",
        "celery",
    ),
    "turnwise-workers": ("langgraph-postgres", "dbos-postgres", "celery"),
    "turnwise-pools": ("langgraph-postgres", "dbos-postgres", "celery"),
}


def sentences(findings: Findings) -> list[str]:
    """Return a sentence for each comparison: in which loops the peer is ahead in turns a second, and in CPU."""
    told = []
    for own, peers in _ALIKE.items():
        for peer in peers:
            rates = _ahead(findings, own, peer, "rate")
            if rates is None:
                continue
            cpu = _ahead(findings, own, peer, "cpu") or []
            told.append(f"**{BY_NAME[peer].label}** beside **{BY_NAME[own].label}**: ahead {_clause(rates, cpu)}.")
    return told or ["No peer was measured in this run."]


def _clause(rates: Sequence[str], cpu: Sequence[str]) -> str:
    ahead = [f"in turns a second with {', '.join(rates)}"] if rates else []
    ahead += [f"in CPU a turn with {', '.join(cpu)}"] if cpu else []
    return "; ".join(ahead) or "in nothing"


def _ahead(findings: Findings, own: str, peer: str, field: str) -> list[str] | None:
    """The loops in which the peer is ahead, and how far; None if no loop was played by both."""
    told, compared = [], False
    for loop in findings.loops():
        ours = {sample.round: getattr(sample, field) for sample in findings.of(own, loop)}
        theirs = {sample.round: getattr(sample, field) for sample in findings.of(peer, loop)}
        both = [number for number in ours if number in theirs and ours[number] > 0 and theirs[number] > 0]
        if not both:
            continue
        compared = True
        # Of CPU, less is better.
        pairs = [(theirs[number], ours[number]) for number in both]
        ratio = statistics.median(a / b if field == "rate" else b / a for a, b in pairs)
        if round(ratio, 2) > 1:
            told.append(f"{loop[0]:,} turns and {loop[1]} at once ({ratio:.2f} x)")
    return told if compared else None
