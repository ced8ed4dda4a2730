"""`python -m bench.in_flight`: one worker process holds many slow model calls at once.

Each conversation is one call. Printed are the time from the first claim to the last reply, beyond what the model itself
takes, the worker's CPU per call, and its greatest memory.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.e2e.waiting import until
from tests.support.brokers import BrokerMissing
from tests.support.databases import NoPostgresError

from bench.installation import Installation, installation
from bench.processes import cpu_seconds, peak_memory

_MB = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Held:
    """The cost of holding the calls: times in seconds, memory in bytes.

    `requests` and `most_at_once` are the model's own count; `claimed` is the time from the first claim to the last,
    `worked` that from the first claim to the last reply; `memory_before` is the worker's without work.
    """

    calls: int
    latency: float
    requests: int
    most_at_once: int
    claimed: float
    worked: float
    cpu: float
    memory_before: int
    memory: int

    def __str__(self) -> str:
        return (
            f"{self.calls} calls of {self.latency:g} s in one worker process: {self.most_at_once} at once, "
            f"{self.requests} requests\n"
            f"  first claim to last claim   {self.claimed:8.2f} s\n"
            f"  first claim to last reply   {self.worked:8.2f} s, {self.worked - self.latency:.2f} s more than one\n"
            f"  CPU of the worker a call    {self.cpu * 1000 / self.calls:8.2f} ms\n"
            f"  memory (RSS), greatest      {self.memory / _MB:8.0f} MB, of which {self.memory_before / _MB:.0f} MB "
            "without work"
        )


def measure(installed: Installation, calls: int, latency: float) -> Held:
    """Let one worker with a thread for each call answer that many conversations."""
    store = installed.parts.store
    before = installed.model_counts()["requests"]
    runs = {installed.submit(0, latency) for _ in range(calls)}
    until(lambda: sum(queue.runnable for queue in store.inspector.queue_stats()) == calls, "all calls to be asked for")
    worker = installed.start("worker", "-Q", "llm", "--concurrency", str(calls))
    try:
        worker.wait_ready()
        cpu, memory = cpu_seconds([worker.pid]), peak_memory(worker.pid)
        until(lambda: not store.monitor.active_runs(), "all conversations to end", patience=4 * latency + 120)
        cpu, greatest = cpu_seconds([worker.pid]) - cpu, peak_memory(worker.pid)
    finally:
        worker.stop()
    asks = [ask for ask in store.inspector.table("asks") if ask["run_id"] in runs]
    claims = [ask["claimed_at"] for ask in asks]
    counts = installed.model_counts()
    return Held(
        calls=len(asks),
        latency=latency,
        requests=counts["requests"] - before,
        most_at_once=counts["max_in_flight"],
        claimed=max(claims) - min(claims),
        worked=max(ask["closed_at"] for ask in asks) - min(claims),
        cpu=cpu,
        memory_before=memory,
        memory=greatest,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.in_flight", description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=30.0, help="what the model takes for a call")
    given = parser.parse_args()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    try:
        with installation() as installed:
            print(measure(installed, given.calls, given.seconds))
    except (BrokerMissing, NoPostgresError) as missing:
        sys.exit(f"not measured: {missing}")


if __name__ == "__main__":
    main()
