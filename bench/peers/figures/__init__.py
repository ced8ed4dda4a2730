"""Measurements of Turnwise alone, each a function that returns figures by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.peers.figures import admission, ageing, broker_messages, first_call, slow_calls, together

Figures = Mapping[str, float]

# By the name that `--only` takes.
ALL: dict[str, Callable[[], Figures]] = {
    "together": together.measure,
    "ageing": ageing.measure,
    "broker-messages": broker_messages.measure,
    "first-call": first_call.measure,
    "admission": admission.measure,
    "slow-calls": slow_calls.measure,
}
