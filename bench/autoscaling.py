"""`python -m bench.autoscaling`: a burst of conversations, and worker processes that follow it up and down.

A model call takes a second; each conversation is two of them and a tool's handler. The rules are those of KEDA and the
HPA with their times made shorter. The burst goes from one worker to the most and back, then to none and back again for
a second, small burst. What must not happen is looked for in the record and asked of the model: a turn lost or doubled,
a call cut off. `--plot FILE.png` draws it (extra `bench`).
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.e2e.waiting import until
from tests.scaling.rules import Behavior, Policy, Rules
from tests.support.brokers import BrokerMissing
from tests.support.databases import NoPostgresError

from bench.installation import Installation, installation
from bench.scaled_pool import Look, ScaledPool

_TURNS = 2  # of the loop: the model, its tool, the model
_CALLS = 2  # of the model


@dataclass(frozen=True, kw_only=True)
class Burst:
    """The course of a burst: the scaler's looks, the asks on record, and the counts that should be empty or 0."""

    looks: list[Look]
    asks: list[dict[str, Any]]
    faults: list[str]
    begun: float
    seconds: float


def compressed(concurrency: int, most: int, *, fewest: int = 1, window: float = 4.0) -> Rules:
    """Rules for a pool of workers that answer so many asks at a time; `window` seconds stand for 300."""
    return Rules(
        target=concurrency,
        fewest=fewest,
        most=most,
        polling=min(1.0, window / 4),
        cooldown=window,
        up=Behavior(
            stabilization=0,
            policies=(Policy(kind="Percent", value=100, seconds=3), Policy(kind="Pods", value=2, seconds=3)),
        ),
        down=Behavior(stabilization=window, policies=(Policy(kind="Pods", value=1, seconds=window / 2),)),
    )


def run_burst(
    installed: Installation, conversations: int, latency: float, concurrency: int, most: int, second: int, window: float
) -> Burst:
    """Play both bursts; raises `TimeoutError` if the workers do not follow."""
    asked = installed.model_counts()
    command = ("worker", "-Q", "llm,agent", "--concurrency", str(concurrency))
    with ScaledPool(installed, compressed(concurrency, most, window=window), *command) as pool:
        _await(pool, lambda look: look.ready == 1, "one worker")
        begun = time.time()
        runs = _submit(installed, conversations, latency)
        _await(pool, lambda look: look.wanted > 1, "more workers")
        _await(pool, lambda look: look.backlog == 0 and look.wanted == 1 and not look.ending, "one worker again")
        seconds = time.time() - begun
        pool.rules = compressed(concurrency, most, fewest=0, window=window)
        _await(pool, lambda look: look.wanted == 0 and not look.ending, "no worker")
        runs |= _submit(installed, second, latency)
        _await(pool, lambda look: look.wanted > 0, "a worker again")
        _await(pool, lambda look: look.wanted == 0 and not look.ending, "none again")
    store = installed.parts.store
    asks = [ask for ask in store.inspector.table("asks") if ask["run_id"] in runs]
    faults = [
        *_faults_on_record(store.inspector.table("runs"), asks, store.inspector.table("replies"), runs),
        *_faults_of_calls(asked, installed.model_counts(), _CALLS * len(runs)),
        # One that is told to end before it can listen to signals dies of it, and has done nothing yet.
        *(f"a worker ended with {w.exit_code}" for w in pool.ended if w.exit_code not in (0, -signal.SIGTERM)),
    ]
    return Burst(looks=pool.looks, asks=asks, faults=faults, begun=begun, seconds=seconds)


def _submit(installed: Installation, conversations: int, latency: float) -> set[str]:
    return {installed.submit(_TURNS, latency) for _ in range(conversations)}


def _await(pool: ScaledPool, holds: Any, what: str) -> None:
    until(lambda: (look := pool.last()) is not None and holds(look), what, patience=600)


def _faults_on_record(
    runs: list[dict[str, Any]], asks: list[dict[str, Any]], replies: list[dict[str, Any]], ours: set[str]
) -> list[str]:
    """Return the asks that were lost or done twice."""
    faults = [f"{run['id']} is {run['status']}" for run in runs if run["id"] in ours and run["status"] != "completed"]
    faults += [f"{ask['id']} was claimed {ask['attempts']} times" for ask in asks if ask["attempts"] != 1]
    answers = sum(reply["run_id"] in ours for reply in replies)
    if not len(asks) == answers == (_CALLS + 1) * len(ours):
        faults.append(f"{len(ours)} conversations have {len(asks)} asks and {answers} replies")
    return faults


def _faults_of_calls(before: dict[str, int], after: dict[str, int], expected: int) -> list[str]:
    """Return the faults that the model itself saw."""
    made = after["requests"] - before["requests"]
    cut = after["hung_up"] - before["hung_up"]
    faults = [] if made == expected else [f"the model was asked {made} times instead of {expected}"]
    return faults + ([f"{cut} calls were cut off"] if cut else [])


def _told(burst: Burst) -> str:
    waits = sorted(ask["claimed_at"] - ask["created_at"] for ask in burst.asks)
    return (
        f"  first conversation to one worker again: {burst.seconds:.0f} s\n"
        f"  workers: {max(look.ready for look in burst.looks)} at most, 0 at the end\n"
        f"  an ask waited for its claim: {statistics.median(waits):.1f} s (median), {waits[-1]:.1f} s (longest)\n"
        f"  lost, doubled or cut off: {'; '.join(burst.faults) or 'nothing'}"
    )


def main() -> None:
    """Play the burst and print how it went; exits with 1 if anything was lost, doubled or cut off."""
    parser = argparse.ArgumentParser(prog="python -m bench.autoscaling", description=__doc__)
    parser.add_argument("--conversations", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=1.0, help="what the model takes for a call")
    parser.add_argument("--concurrency", type=int, default=8, help="answers at a time in each worker")
    parser.add_argument("--most", type=int, default=6, help="workers at most")
    parser.add_argument("--plot", type=Path, help="a PNG to be written")
    given = parser.parse_args()
    about = f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before"
    print(f"{about}\n{given.conversations} conversations, {given.concurrency} answers at a time in each worker")
    load = (given.conversations, given.seconds, given.concurrency, given.most)
    try:
        with installation() as installed:
            burst = run_burst(installed, *load, second=20, window=4.0)
    except (BrokerMissing, NoPostgresError) as missing:
        sys.exit(f"not measured: {missing}")
    print(_told(burst))
    if given.plot is not None:
        from bench.scaling_plot import draw  # matplotlib is an extra

        draw(burst.looks, burst.asks, burst.begun, given.plot)
    sys.exit(1 if burst.faults else 0)


if __name__ == "__main__":
    main()
