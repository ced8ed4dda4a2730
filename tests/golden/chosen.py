"""Which scenarios stand for all of them, where playing all would take too long."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from . import model
from .model import Scenario, load_all


@cache
def third() -> tuple[Scenario, ...]:
    """Of every label at least a third of its scenarios, rounded up: those with the most messages.

    So no rule is left out, and what is left out of it are the easy cases. Labels are taken from the rarest on, which
    keeps the choice small; it is the same each time, in the order of the files.
    """
    scenarios = load_all()
    having: dict[str, list[Scenario]] = defaultdict(list)
    for one in scenarios:
        for label in labels(one):
            having[label].append(one)
    chosen: set[str] = set()
    for _, with_label in sorted(having.items(), key=lambda item: (len(item[1]), item[0])):
        missing = -(-len(with_label) // 3) - sum(one.id in chosen for one in with_label)
        left = sorted((one for one in with_label if one.id not in chosen), key=_length, reverse=True)
        chosen.update(one.id for one in left[: max(0, missing)])
    return tuple(one for one in scenarios if one.id in chosen)


def labels(scenario: Scenario) -> frozenset[str]:
    """The scenario's features, the kinds of its handlers and of its messages, and how it ends."""
    found = set(scenario.features)
    found.update(f"handler {kind}" for tool in scenario.tools if tool.handler for kind in _kinds(tool.handler))
    found.update(f"message {type(run.message).__name__}" for run in scenario.runs)
    found.update(f"end {status}" for run in scenario.golden.runs for _, status in run.ends)
    found.update(f"exception {run.exception}" for run in scenario.golden.runs)
    found.update(f"human {text.split(' ')[0] == 'SYSTEM'}" for text in scenario.human.answers)
    return frozenset({*found, f"{len(scenario.runs)} runs", f"limit {scenario.turn_limit}"})


def _kinds(handler: model.Handler) -> Iterator[str]:
    yield handler.kind
    if isinstance(handler, model.Countdown):
        yield from _kinds(handler.until)
        yield from _kinds(handler.then)


def _length(scenario: Scenario) -> tuple[int, str]:
    return sum(len(run.taken) for run in scenario.golden.runs), scenario.id
