"""Measure what it costs to stream the text of many answers: messages and CPU time of one process, over a broker.

    python -m bench.streaming [--streams 1000] [--tokens-a-second 50] [--seconds 10] [--broker amqp://...]

A model writes tokens of five characters into each of so many answers. Half of the rounds are unwatched, half watched.
"""

from __future__ import annotations

import argparse
import threading
import time
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

from turnwise.base.clock import SYSTEM_CLOCK
from turnwise.bus.celery_bus import CeleryBus
from turnwise.bus.envelope import Notice, TextNotice, WatchNotice
from turnwise_responders.streaming import Streaming
from turnwise_responders.watched_runs import WatchedRuns


class _CountingBus(CeleryBus):
    messages = 0

    def tell(self, listener: str, notice: Notice) -> None:
        self.messages += 1
        super().tell(listener, notice)


def measure(url: str, *, streams: int, rate: float, seconds: float, watched: bool) -> dict[str, float]:
    """Messages a second, characters that a watcher got of all that were written, and seconds of processor time."""
    bus, watch = _CountingBus(url), WatchedRuns(SYSTEM_CLOCK)
    got = [0]

    def heard(notice: Notice) -> None:
        if isinstance(notice, TextNotice):
            got[0] += sum(len(piece.text) for piece in notice.pieces)

    listener = bus.listen(heard)
    listener.wait_ready(10)
    streaming = Streaming(bus, watch, SYSTEM_CLOCK)
    streaming.start()
    runs = [f"run_{n:032}" for n in range(streams)]
    if watched:
        watch.heard(WatchNotice(listener=listener.address, runs=runs, seconds=60))
    written, begun, used, pause = 0, time.monotonic(), time.process_time(), threading.Event()
    with ExitStack() as answers:
        texts = [answers.enter_context(streaming.answer(_claim(run))) for run in runs]
        for tick in range(int(seconds * rate)):
            for text in texts:
                text("word ")
            written += 5 * streams
            pause.wait(max(0.0, begun + (tick + 1) / rate - time.monotonic()))
        took, used = time.monotonic() - begun, time.process_time() - used
        pause.wait(0.5)
        messages = bus.messages
    pause.wait(0.5)
    streaming.stop()
    bus.close()
    return {"messages/s": messages / took, "received": got[0] / written, "CPU s/s": used / took}


def _claim(run: str) -> Any:
    ask = SimpleNamespace(id=f"ask_{run}", attempts=1, deferrals=0)
    return SimpleNamespace(run=SimpleNamespace(id=run), ask=ask)


def main() -> None:
    """Print one line for unwatched and one for watched streams."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", default="amqp://guest:guest@127.0.0.1:5672//")
    parser.add_argument("--streams", type=int, default=1_000)
    parser.add_argument("--tokens-a-second", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    for watched in (False, True):
        found = measure(
            given.broker, streams=given.streams, rate=given.tokens_a_second, seconds=given.seconds, watched=watched
        )
        told = ", ".join(f"{name} {value:.2f}" for name, value in found.items())
        print(f"{given.streams} streams, {'watched' if watched else 'unwatched'}: {told}")


if __name__ == "__main__":
    main()
