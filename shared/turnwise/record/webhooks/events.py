"""The types of events that a receiver can be sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turnwise.errors import InvalidWebhookError

# All of them are rare in a run. The trigger of migration 0019 knows the same.
EVENT_TYPES = (
    "run.accepted",
    "run.forked",
    "run.retried",
    "run.completed",
    "run.failed",
    "run.cancelled",
    "human.asked",
    "human.answered",
    "ask.parked",
    "ask.resolved",
    "limit.reached",
    "task.finished",
)
# For a receiver that names none: the end of a run, and when a person has to act.
DEFAULT_TYPES = ("run.completed", "run.failed", "run.cancelled", "human.asked", "ask.parked")
# Of a message that a person has sent to try a receiver.
TEST_TYPE = "webhook.test"


def known_types(names: Sequence[str]) -> tuple[str, ...]:
    """The types of these names, each once and in a fixed order; `run.*` is all that begin so, `*` all.

    Raises `InvalidWebhookError` for any other name.
    """
    wanted: set[str] = set()
    for name in names:
        found = _matching(name)
        if not found:
            raise InvalidWebhookError(
                f"{name!r} is no type of event that can be sent; expected some of {', '.join(EVENT_TYPES)}, a group of "
                "them such as run.*, or *"
            )
        wanted.update(found)
    return tuple(name for name in EVENT_TYPES if name in wanted)


def _matching(name: str) -> Iterable[str]:
    if name == "*":
        return EVENT_TYPES
    if name.endswith(".*"):
        return [one for one in EVENT_TYPES if one.startswith(name[:-1])]
    return [name] if name in EVENT_TYPES else []
