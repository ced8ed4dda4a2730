"""The time from a POST to the first call of the model, where nothing else is under way."""

from __future__ import annotations

import socket
import statistics
import time
import uuid

from tests.e2e.waiting import until

from bench import distributed
from bench.peers.figures import names
from bench.peers.figures.gateway import Submitter, gateway
from bench.peers.figures.noting_model import PORT
from turnwise.record.store import Store

_WARM, _POSTS, _PATIENCE = 20, 200, 60.0


def measure() -> dict[str, float]:
    """Return the median and the 99th percentile of many, one after another."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as notes:
        notes.bind(("127.0.0.1", 0))
        notes.settimeout(_PATIENCE)
        where = {PORT: str(notes.getsockname()[1])}
        app = "bench.peers.figures.noting_model:app"
        with gateway(*distributed.TOGETHER, app=app, variables=where) as (address, store):
            client = Submitter(address)
            waits = [_one(client, notes, store) for _ in range(_WARM + _POSTS)][_WARM:]
            client.close()
    ordered = statistics.quantiles(waits, n=100, method="inclusive")
    return {names.FIRST_CALL_P50: ordered[49] * 1000, names.FIRST_CALL_P99: ordered[98] * 1000}


def _one(client: Submitter, notes: socket.socket, store: Store) -> float:
    """Seconds from one POST to the call that it leads to; returns when the run has ended."""
    message = uuid.uuid4().hex
    begun = time.perf_counter()
    run = client.submit(message)
    while message.encode() not in notes.recv(65_536):
        pass
    seconds = time.perf_counter() - begun
    until(lambda: store.inspector.run(run).ended, "the run to end", every=0.01)
    return seconds
