"""Rounds of a worker for batches of providers, over a record that says how much there is to clear."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from prometheus_client import CollectorRegistry
from tests.support.store_parts import asked_run, new_queue

from turnwise import App
from turnwise.processes.metrics import Metrics
from turnwise.processes.observers.metrics import RunMetrics
from turnwise.processes.settings import load_settings
from turnwise.record.provider_batches.results import MOST_CLEARED, Cleared, UnusedAnswer
from turnwise.record.store import Store
from turnwise.record.values.records import Usage
from turnwise.serving.observer import Observers
from turnwise_responders.batch_rounds import BatchRounds


class _Record:
    """A record, its batches and its clock: a wait ends at once, and the last one ends the work."""

    def __init__(self, cleared: list[int]) -> None:
        self.provider_batches = self.clock = self
        self.left = iter(cleared)
        self.looks = len(cleared)
        self.waits: list[float] = []
        self.unused: list[UnusedAnswer] = []

    def event(self) -> Any:
        return self

    def is_set(self) -> bool:
        return False

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return len(self.waits) > self.looks

    def batching_providers(self) -> dict[str, str]:
        return {"provider": "m"}

    def clear_collected(self, _: object) -> Cleared:
        return Cleared(calls=next(self.left), unused=self.unused)

    def open_batch(self, *_: object) -> None:
        return None

    def due_batch(self, *_: object) -> None:
        return None


def test_calls_of_no_use_that_one_look_leaves_are_cleared_without_a_wait() -> None:
    record: Any = _Record([0, MOST_CLEARED, MOST_CLEARED, 3])
    settings = load_settings(provider_batch_seconds=20.0, provider_batch_poll_seconds=60.0)
    nothing: Any = None
    rounds = BatchRounds(record, App("tests", version="1"), nothing, settings, lambda: "me", {}, nothing)

    rounds._work()

    assert record.waits == [5.0, 5.0, 0.0, 0.0, 5.0]


def test_answers_that_are_cleared_are_counted(store: Store) -> None:
    run, registry = asked_run(store, new_queue()), CollectorRegistry()
    record: Any = _Record([1, 0])
    record.unused = [
        UnusedAnswer(run=run, usage=Usage(prompt_tokens=10, completion_tokens=2, cost=Decimal("0.25"), model="m"))
    ]
    nothing: Any = None
    observers = Observers(RunMetrics(Metrics(registry)))
    rounds = BatchRounds(record, App("tests", version="1"), nothing, load_settings(), lambda: "me", {}, observers)

    rounds.look()

    assert registry.get_sample_value("turnwise_cost_usd_total", {"model": "m", "task": run.task}) == 0.25
    assert registry.get_sample_value("turnwise_tokens_total", {"model": "m", "type": "prompt"}) == 10
    assert registry.get_sample_value("turnwise_tokens_total", {"model": "m", "type": "completion"}) == 2
    assert registry.get_sample_value("turnwise_llm_calls_total", {"model": "m", "outcome": "ok"}) == 1
