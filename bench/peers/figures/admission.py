"""Submissions that one gateway process accepts while nothing else runs but its database and broker."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from bench.counting import first_message
from bench.peers.figures import names
from bench.peers.figures.gateway import Submitter, gateway

_CLIENTS, _SECONDS, _WARM = 8, 5.0, 25


def measure() -> dict[str, float]:
    """Return how many a second, from several clients at once."""
    with gateway() as (address, _), ThreadPoolExecutor(_CLIENTS) as threads:
        clients = [Submitter(address) for _ in range(_CLIENTS)]
        list(threads.map(_warm_up, clients))
        begun = time.perf_counter()
        accepted = sum(threads.map(lambda client: _submit_until(client, begun + _SECONDS), clients))
        seconds = time.perf_counter() - begun
        for client in clients:
            client.close()
    return {names.SUBMISSIONS: accepted / seconds}


def _warm_up(client: Submitter) -> None:
    for _ in range(_WARM):
        client.submit(first_message(2))


def _submit_until(client: Submitter, end: float) -> int:
    accepted = 0
    while time.perf_counter() < end:
        client.submit(first_message(2))
        accepted += 1
    return accepted
