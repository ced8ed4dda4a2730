"""Says in a sentence where the time of a run went."""

from __future__ import annotations

from turnwise.api.timeline import Kind
from turnwise.timeline.spans import Item, Span
from turnwise.timeline.sums import Sum, Sums

# {name} is what the span names.
_PHRASES: dict[Kind, tuple[str, str]] = {
    "queue": ("waiting in the queue {name}", "waiting for a worker"),
    "provider": ("waiting for the provider's limit on {name}", "waiting for the provider's limit"),
    "batch": ("waiting for a batch of the provider of {name}", "waiting for batches of a provider"),
    "outage": (
        "waiting for the provider of {name} to be back",
        "waiting for a provider to be back",
    ),
    "budget": ("waiting for the budget ({name})", "waiting for a budget"),
    "retry": ("in retries after errors of {name}", "in retries after errors"),
    "human": ("waiting for a human ({name})", "waiting for a human"),
    "parked": ("waiting for a decision on a parked call of {name}", "waiting for a decision on a parked ask"),
    "session": ("waiting for {name}, the run before it in its session", "waiting for an earlier run of its session"),
    "paused": ("held by a pause of the {name}", "held by a pause"),
    "model": ("in calls of the model {name}", "in calls of a model"),
    "tool": ("in the tool {name}", "in tools"),
    "worker": ("in workers beside these calls", "in workers beside these calls"),
    "lost": ("in work that was lost", "in work that was lost with its worker"),
    "move": ("in moves", "in moves"),
    "over": ("ended, before it was retried", "ended, before it was retried"),
    "unknown": ("in asks of which no times were kept", "in asks of which no times were kept"),
}
# What is told at most, and what share of the time is worth it.
_MOST, _LEAST = 4, 0.03


def phrase(kind: Kind, name: str) -> str:
    """Return what a span or a sum is, in few words."""
    named, unnamed = _PHRASES[kind]
    return named.format(name=name) if name else unnamed


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def sentence(sums: Sums, ended: bool) -> str:
    """Return where the time went, the largest part first."""
    total = sums.seconds
    took = "It took" if ended else "So far it took"
    if total <= 0:
        return "It has only just begun."
    told = [one for one in sums.shares if one.seconds >= _LEAST * total][:_MOST]
    parts = ", ".join(_part(one, total) for one in told)
    return " ".join([f"{took} {duration(total)}: {parts}.", *_incidents(sums), *_slowest(sums)])


def _part(one: Sum, total: float) -> str:
    return f"{100 * one.seconds / total:.0f} % {phrase(one.kind, one.name)} ({duration(one.seconds)})"


def _incidents(sums: Sums) -> list[str]:
    told = []
    if sums.lost:
        told.append(f"{sums.lost} {_plural('attempt', sums.lost)} lost with a worker, and made again.")
    if sums.retries:
        told.append(f"{sums.retries} {'attempt' if sums.retries == 1 else 'attempts'} failed and had to be made again.")
    return told


def _plural(noun: str, number: int) -> str:
    return f"{noun} was" if number == 1 else f"{noun}s were"


def _slowest(sums: Sums) -> list[str]:
    if sums.items < 3 or not sums.slowest:
        return []
    item = sums.slowest[0]
    longest = max(item.spans, key=_seconds, default=None)
    why = f", {duration(longest.seconds)} of it {phrase(longest.kind, longest.name)}" if longest is not None else ""
    return [f"The slowest ask was {who(item)} in turn {item.turn}: {duration(item.seconds)}{why}."]


def _seconds(span: Span) -> float:
    return span.seconds


def who(item: Item) -> str:
    """Return who was asked."""
    whom = {"llm": "the model", "agent": "the tools", "human": "the human"}.get(item.responder, item.responder)
    return f"{whom} of {item.task}"
