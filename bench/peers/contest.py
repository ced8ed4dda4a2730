"""A contender that plays: started on servers of its own, warmed up, ordered about, measured."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.brokers import fresh_rabbitmq
from tests.support.databases import fresh_postgres

from bench.counting import turns_of
from bench.peers import cpu, protocol
from bench.peers.document import Sample
from bench.peers.roster import Contender

ROOT = Path(__file__).parents[2]
PEERS = ROOT / ".venv-peers" / "bin" / "python"
# Orders that are not measured: connections are opened, statements prepared, threads and caches filled.
_WARM = ((10, 1), (10, 8))
# CPU is counted in steps of ten milliseconds, and a loop in one process may last no longer.
_LEAST_SECONDS, _MOST_PLAYS = 1.0, 50
# Seconds for a contender and its services to end.
_PATIENCE = 120.0


class ContenderError(RuntimeError):
    """A contender ended, or said what was not expected; the message has the end of what it wrote."""


@dataclass(kw_only=True)
class Player:
    """A contender that is ready; its settings and versions are as it told them."""

    contender: Contender
    settings: dict[str, str]
    versions: dict[str, str]
    _pids: list[int]
    _database: str | None
    _process: subprocess.Popen[str]
    _errors: Any = field(repr=False)

    def play(self, round_number: int, turns: int, conversations: int) -> Sample:
        """Let it play this order, and measure; a short one is played again until there is enough to measure."""
        before, wall, plays = self._times(), 0.0, 0
        while wall < _LEAST_SECONDS and plays < _MOST_PLAYS:
            self._order(turns, conversations)
            wall, plays = wall + self._listen(protocol.PLAYED)["seconds"], plays + 1
        taken = turns_of(turns) * conversations * plays
        seconds = cpu.used(before, self._times())
        self._say(protocol.ASK_STORED)
        stored = self._listen(protocol.STORED)["bytes_per_turn"]
        return Sample(
            contender=self.contender.name,
            round=round_number,
            turns=turns,
            conversations=conversations,
            rate=taken / wall,
            cpu_ms={group: value * 1000 / taken for group, value in seconds.items()},
            bytes_per_turn=stored,
        )

    def warm_up(self) -> None:
        """Let it play a little, unmeasured."""
        for turns, conversations in _WARM:
            self._order(turns, conversations)
            self._listen(protocol.PLAYED)

    def _times(self) -> cpu.Times:
        return cpu.times(self._pids, self._database, broker="rabbitmq" in self.contender.needs)

    def _order(self, turns: int, conversations: int) -> None:
        self._say(protocol.order(turns, conversations))

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._failed("ended early") from error

    def _listen(self, wanted: str) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = protocol.heard(line, wanted)
            if told is not None:
                return told
        raise self._failed("ended early")

    def _failed(self, how: str) -> ContenderError:
        self._errors.seek(0)
        return ContenderError(f"{self.contender.name} {how}; it wrote:\n{self._errors.read()[-3000:]}")


@contextmanager
def player(contender: Contender) -> Iterator[Player]:
    """Start a contender on empty servers of its own, warmed up.

    Raises `NoPostgresError` and `BrokerMissing` where a server is missing, and `ContenderError`.
    """
    with ExitStack() as held:
        places, database = _places(contender, held)
        errors = held.enter_context(tempfile.TemporaryFile("w+"))
        process = subprocess.Popen(
            [str(interpreter(contender)), "-m", contender.module, *contender.arguments, *places],
            cwd=ROOT,
            env={**os.environ, "TURNWISE_LOG_LEVEL": "WARNING"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        held.callback(_end, process)
        made = Player(
            contender=contender,
            settings={},
            versions={},
            _pids=[],
            _database=database,
            _process=process,
            _errors=errors,
        )
        ready = made._listen(protocol.READY)
        made.settings, made.versions, made._pids = ready["settings"], ready["versions"], ready["pids"]
        made.warm_up()
        yield made


def interpreter(contender: Contender) -> Path:
    """Return the Python that has its packages."""
    return PEERS if contender.is_peer else Path(sys.executable)


def missing(contenders: Sequence[Contender]) -> list[str]:
    """Return the names of those whose environment is not there."""
    return [contender.name for contender in contenders if not interpreter(contender).exists()]


def _places(contender: Contender, held: ExitStack) -> tuple[list[str], str | None]:
    """Where it keeps its data, as its arguments say it, and the name of its database."""
    places, database = [], None
    for need in contender.needs:
        if need == "folder":
            folder = held.enter_context(tempfile.TemporaryDirectory(prefix="turnwise-peers-"))
            places.append(f"{contender.prefix}{Path(folder) / 'peer.db'}")
        elif need == "postgres":
            places.append(held.enter_context(fresh_postgres()))
            database = places[-1].rpartition("/")[2].partition("?")[0]
        else:
            places.append(held.enter_context(fresh_rabbitmq()))
    return places, database


def _end(process: subprocess.Popen[str]) -> None:
    """Close its input, which ends it, and wait for it."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):  # it has ended
        process.stdin.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
