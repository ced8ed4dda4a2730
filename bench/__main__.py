"""`python -m bench`: turns a second of a tool loop in every way of running, with CPU and bytes a turn.

Everything is measured in this one run, and what matters is the ratios; absolute figures belong to the machine. Served
ways that need PostgreSQL or RabbitMQ are left out, with the reason, where there is none.
"""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path

_ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(_ROOT))

from tests.support.brokers import BrokerMissing, fresh_rabbitmq  # noqa: E402
from tests.support.databases import NoPostgresError, fresh_postgres  # noqa: E402

from bench import distributed, embedded, in_process  # noqa: E402 - the path had to come first
from bench.ping_pong import two_hop_ping_pong  # noqa: E402
from bench.result import Result  # noqa: E402

_SHORT, _LONG, _MANY = 50, 800, 50


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="in-process and embedded only")
    quick = parser.parse_args().quick
    print(f"Python {platform.python_version()}, {platform.machine()}, a turn = one answer taken\n")
    print(f"{'way':<34}{'turns':>6}{'at once':>9}{'turns/s':>10}{'bytes/turn':>12}   CPU ms/turn")
    local = [in_process.measure(turns) for turns in (_SHORT, _LONG)]
    _show(local)
    _show([in_process.measure(_LONG, awaited=True)])
    for moves in ("worker", "coordinator"):
        _show([embedded.measure(turns, moves=moves) for turns in (_SHORT, _LONG)])
    print()
    _ratio("in-process: turns/s of the long loop to the short one", local[1].rate / local[0].rate, "at least 1")
    _ratio("in-process: CPU of a turn at turn 5,000 to one at turn 50", in_process.ageing(), "at most 1.05")
    _ratio("in-process: CPU of a turn of 1,000 at once to one by one", in_process.side_by_side(), "at most 1.2")
    if not quick:
        _distributed()


def _distributed() -> None:
    loops = [(_SHORT, 1), (_LONG, 1), (_SHORT, _MANY)]
    try:
        with fresh_rabbitmq() as broker:
            bare = {n: two_hop_ping_pong(broker, 1_500, n) for n in (1, _MANY)}
        for moves, label in (("worker", "distributed"), ("coordinator", "distributed, moves by coordinators")):
            with fresh_rabbitmq() as broker, fresh_postgres() as database:
                results = distributed.measure(label, database, broker, loops, moves=moves)
            _show(results)
            for result in (results[0], results[2]):
                share = result.rate / bare[result.conversations]
                _ratio(f"{label}: to bare Celery, {result.conversations} at once", share, "at least 0.5")
        for n, rate in bare.items():
            print(f"bare Celery ping-pong of two hops, {n} at once: {rate:.0f} rounds/s")
    except (BrokerMissing, NoPostgresError) as missing:
        print(f"distributed: left out ({missing})")


def _show(results: list[Result]) -> None:
    for r in results:
        stored = f"{r.bytes_per_turn:.0f}" if r.bytes_per_turn is not None else "-"
        cpu = ", ".join(f"{name} {value:.2f}" for name, value in r.cpu_ms.items())
        print(f"{r.way:<34}{r.turns:>6}{r.conversations:>9}{r.rate:>10.0f}{stored:>12}   {cpu}", flush=True)


def _ratio(what: str, value: float, aim: str) -> None:
    print(f"{what}: {value:.2f} (aim: {aim})", flush=True)


if __name__ == "__main__":
    main()
