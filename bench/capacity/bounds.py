"""Exact results of queueing theory, against which the simulation is tested."""

from __future__ import annotations

import math
from collections.abc import Mapping


def erlang_c(servers: int, offered: float) -> float:
    """The chance that a customer of M/M/c has to wait; `offered` is arrivals times service time, below `servers`."""
    if not 0 <= offered < servers:
        raise ValueError(f"{offered} is offered to {servers} servers; expected less than they can take")
    last = offered**servers / math.factorial(servers) * servers / (servers - offered)
    return last / (sum(offered**n / math.factorial(n) for n in range(servers)) + last)


def mean_wait(servers: int, arrivals: float, service: float) -> float:
    """The mean wait of M/M/c in seconds; `arrivals` a second, `service` in seconds."""
    return erlang_c(servers, arrivals * service) * service / (servers - arrivals * service)


def ceiling(demands: Mapping[str, float], servers: Mapping[str, float]) -> tuple[str, float]:
    """The station that is full first, and the turns a second it takes then; `demands` are seconds a turn."""
    rates = {name: servers[name] / seconds for name, seconds in demands.items() if seconds > 0}
    first = min(rates, key=lambda name: rates[name])
    return first, rates[first]


def closed(customers: int, thinking: float, demand: float) -> tuple[float, float]:
    """Throughput and mean time at a single server of `customers` that think between visits, exactly (mean values)."""
    queue, time, rate = 0.0, demand, 0.0
    for n in range(1, customers + 1):
        time = demand * (1 + queue)
        rate = n / (thinking + time)
        queue = rate * time
    return rate, time
