"""The yardstick: what two bare Celery workers do that play ping-pong, with no state and no database.

    python -m bench.ping_pong amqp://guest:guest@127.0.0.1:5672// [ROUNDS]

A turn of a distributed run is two hops as well (ask, reply), so a round here is compared with a turn there. Both
players are separate processes with a pool of threads; each hop is a plain `apply_async` with Celery's own settings,
except that no results are kept. With `--guarded`, it is played with the settings of the services instead: confirmed
publishes, quorum queues and task events.
"""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import worker_ready
from kombu.entity import Exchange, Queue

from bench.threads import THREADS
from turnwise.bus.worker.celery_app import make_celery

_ROOT = Path(__file__).parent.parent
_START_SECONDS = 60.0
_FINISH_SECONDS = 600.0
_PREFETCH = 8
# The socket that hears of ends. Looking for them again and again would lengthen the time that is measured.
_ENDS = "ends"
_CHAIN_BYTES = 32
# Printed by a player once it consumes; its log level keeps Celery silent.
_READY = "player is ready"


def _queues(run: str) -> tuple[str, str]:
    return f"ping-{run}", f"pong-{run}"


def _publish(task: Any, queue: str, arguments: list[object]) -> None:
    # Named in full: Celery would otherwise route by the default exchange's key.
    task.apply_async(arguments, queue=queue, routing_key=f"{queue}.hop")


def make_app(broker_url: str, run: str, folder: Path, *, guarded: bool) -> Any:
    """The application of both players; a chain that is through is told to the socket in `folder`."""
    ping_queue, pong_queue = _queues(run)
    if guarded:
        app = make_celery("ping_pong", broker_url, [ping_queue, pong_queue], prefetch_multiplier=_PREFETCH)
    else:
        app = _stock_celery(broker_url, [ping_queue, pong_queue])

    def ping(chain: str, rounds_left: int) -> None:
        if rounds_left == 0:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.sendto(chain.encode(), str(folder / _ENDS))
        else:
            _publish(app.tasks["pong"], pong_queue, [chain, rounds_left])

    def pong(chain: str, rounds_left: int) -> None:
        _publish(app.tasks["ping"], ping_queue, [chain, rounds_left - 1])

    app.task(ping, name="ping", shared=False)
    app.task(pong, name="pong", shared=False)
    return app


def _stock_celery(broker_url: str, queues: list[str]) -> Any:
    app = Celery("ping_pong", broker=broker_url, set_as_current=False)
    app.conf.update(
        task_ignore_result=True,
        worker_prefetch_multiplier=_PREFETCH,
        task_queues=[Queue(queue, Exchange("ping-pong", "topic"), routing_key=f"{queue}.#") for queue in queues],
        task_default_exchange="ping-pong",
        task_default_exchange_type="topic",
        broker_connection_retry_on_startup=True,
    )
    return app


def two_hop_ping_pong(broker_url: str, n: int, concurrency: int, *, guarded: bool = False) -> float:
    """Rounds of two hops a second, of `n` rounds shared by `concurrency` chains that are in flight at once.

    Raises `TimeoutError` if the players do not start or do not finish.
    """
    with players(broker_url, guarded=guarded) as game:
        rounds = [n // concurrency + (chain < n % concurrency) for chain in range(concurrency)]
        return n / game.play(rounds)


@dataclass(frozen=True, kw_only=True)
class Game:
    """Two players that are ready; `play` sends chains of so many rounds each and returns the seconds that they took."""

    pids: list[int]
    play: Callable[[list[int]], float]


@contextmanager
def players(broker_url: str, *, guarded: bool = False) -> Iterator[Game]:
    """Start both players, which have connected and published once; raises `TimeoutError` if they do not start."""
    run = uuid.uuid4().hex[:8]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        app = make_app(broker_url, run, folder, guarded=guarded)

        def play(rounds: list[int]) -> float:
            began = time.perf_counter()
            _play(app, run, ends, rounds)
            return time.perf_counter() - began

        try:
            with (
                _socket_of_ends(folder) as ends,
                _player(broker_url, run, folder, 0, guarded) as ping,
                _player(broker_url, run, folder, 1, guarded) as pong,
            ):
                play([1, 1])
                yield Game(pids=[ping, pong], play=play)
        finally:
            _delete_queues(app)
            app.close()


@contextmanager
def _socket_of_ends(folder: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ends:
        ends.bind(str(folder / _ENDS))
        yield ends


def _play(app: Any, run: str, ends: socket.socket, rounds: list[int]) -> None:
    chains = {uuid.uuid4().hex: count for count in rounds if count}
    for chain, count in chains.items():
        _publish(app.tasks["ping"], _queues(run)[0], [chain, count])
    under_way, deadline = set(chains), time.monotonic() + _FINISH_SECONDS
    while under_way:
        # A timeout of 0 would not wait at all.
        ends.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            under_way.discard(ends.recv(_CHAIN_BYTES).decode())
        except TimeoutError as error:
            raise TimeoutError(
                f"{len(under_way)} of {len(chains)} chains did not finish in {_FINISH_SECONDS:.0f} s"
            ) from error


@contextmanager
def _player(broker_url: str, run: str, folder: Path, which: int, guarded: bool) -> Iterator[int]:
    log = folder / f"player-{which}.log"
    command = [sys.executable, "-m", "bench.ping_pong", "--player", str(which), "--run", run]
    command += ["--folder", str(folder), broker_url, *(["--guarded"] if guarded else [])]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=_ROOT)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while _READY not in log.read_text():
            if time.monotonic() > deadline or process.poll() is not None:
                raise TimeoutError(f"A player did not start:\n{log.read_text()}")
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(15)
        if process.poll() is None:
            process.kill()
            process.wait()


def _delete_queues(app: Any) -> None:
    with app.connection_for_write() as connection:
        for queue in app.conf.task_queues:
            queue(connection.default_channel).delete()


def _serve(broker_url: str, run: str, folder: Path, which: int, guarded: bool) -> None:
    app = make_app(broker_url, run, folder, guarded=guarded)
    queue = _queues(run)[which]
    worker_ready.connect(_say_ready)
    pool = ["-P", "threads", "-c", str(THREADS)]
    app.worker_main(["worker", *pool, "-Q", queue, "-n", f"{queue}@%h", "-l", "WARNING"])


def _say_ready(**_: object) -> None:
    print(_READY, flush=True)


def main() -> None:
    """Print rounds a second with 1 and with 50 chains in flight."""
    parser = argparse.ArgumentParser(description="Rounds a second of a bare two-hop Celery ping-pong.")
    parser.add_argument("broker_url")
    parser.add_argument("rounds", nargs="?", type=int, default=1000)
    parser.add_argument("--player", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--run", default="", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=Path(), help=argparse.SUPPRESS)
    parser.add_argument("--guarded", action="store_true", help="play with the services' settings")
    given = parser.parse_args()
    if given.player is not None:
        _serve(given.broker_url, given.run, given.folder, given.player, given.guarded)
        return
    for concurrency in (1, 50):
        rate = two_hop_ping_pong(given.broker_url, given.rounds, concurrency, guarded=given.guarded)
        print(f"{concurrency:3} in flight: {rate:6.0f} rounds/s")


if __name__ == "__main__":
    main()
