"""`python -m tests.chaos`: conversations on real servers while processes are killed, servers restart, wires break.

Exits with 0 if nothing was lost, doubled, overspent or said differently, and with 1 otherwise.
"""

from __future__ import annotations

import argparse
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.chaos import faults, memory, real_run, report
from tests.chaos.folder import run_folder
from tests.chaos.servers import ServerMissingError
from tests.chaos.stage import Broker, Setting


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--memory", action="store_true", help="the second run: no kills, does anybody grow?")
    parser.add_argument("--conversations", type=int, metavar="N", help="default: 200; with --memory: 1000")
    parser.add_argument("--seed", type=int, default=1, help="of conversations and faults; default: %(default)s")
    parser.add_argument("--broker", choices=("rabbitmq", "redis", "both"), default="both")
    parser.add_argument("--at-once", type=int, default=30, metavar="N", help="conversations; default: %(default)s")
    parser.add_argument("--moves", choices=("worker", "coordinator"), default="worker", help="TURNWISE_MOVES")
    parser.add_argument("--kills", action="store_true", help="no other faults than kill -9 of processes")
    parser.add_argument(
        "--gap", type=float, default=3.0, metavar="S", help="seconds between faults, at least; default: %(default)s"
    )
    parser.add_argument("--keep", action="store_true", help="leave logs and data where they are, and say where")
    given = parser.parse_args()
    # Told to end, it ends what it has started as well.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    count = given.conversations or (1000 if given.memory else 200)
    chosen: dict[str, Any] = {"kinds": faults.KILLS} if given.kills else {}
    brokers: list[Broker] = ["rabbitmq", "redis"] if given.broker == "both" else [given.broker]
    held = []
    for broker in brokers:
        setting = Setting(
            broker=broker,
            seed=given.seed,
            at_once=given.at_once,
            gap=given.gap,
            settings={"moves": given.moves},
            **chosen,
        )
        print(f"\n== PostgreSQL and {broker}, {count} conversations, seed {given.seed}", flush=True)
        with run_folder(keep=given.keep) as folder:
            try:
                held.append((_weigh if given.memory else _play)(setting, count, folder))
            except ServerMissingError as missing:
                print(missing, file=sys.stderr)
                return 2
    print("\neverything held" if all(held) else "\nsomething did not hold; the same seed makes the same plan")
    return 0 if all(held) else 1


def _play(setting: Setting, count: int, folder: Path) -> bool:
    tell = report.Teller()
    programme = real_run.rehearse(count, setting.seed, folder / "quiet", tell)
    return report.show(real_run.play(setting, programme, folder / "real", tell))


def _weigh(setting: Setting, count: int, folder: Path) -> bool:
    setting = replace(setting, kinds=memory.KINDS, gap=10.0, pace=0.3, requests=10_000)
    outcome, growth = memory.play(setting, count, folder / "real", report.Teller())
    held = report.show(outcome)
    return report.show_growth(growth) and held


if __name__ == "__main__":
    sys.exit(main())
