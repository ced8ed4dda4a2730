"""Rounds in which everyone plays once, in an order that chance decides, so that the machine's moods meet all alike."""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

import os
import platform
import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from kombu.connection import Connection
from tests.support.brokers import AMQP_URL, BrokerMissing
from tests.support.databases import NoPostgresError, postgres_server

from bench.peers import figures
from bench.peers.contest import ContenderError, player
from bench.peers.document import Figure, Findings, Played
from bench.peers.roster import Contender

_POSTGRES_SETTINGS = ("server_version", "synchronous_commit", "fsync", "full_page_writes", "shared_buffers")


class Benchmark:
    """A run of the benchmark; `once` are loops of the first round, `tell` gets a line for each measurement."""

    def __init__(
        self,
        contenders: Sequence[Contender],
        alone: Sequence[str],
        loops: Sequence[tuple[int, int]],
        once: Sequence[tuple[int, int]],
        tell: Callable[[str], None],
    ) -> None:
        self._contenders = {contender.name: contender for contender in contenders}
        self._alone = list(alone)
        self._loops, self._once, self._tell = [*loops], [*once], tell
        self.findings = Findings(
            begun=datetime.now(UTC).isoformat(timespec="seconds"),
            machine=f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
            cores=os.cpu_count() or 1,
            load=(_load(), _load()),
            servers=_servers() if any(c.needs for c in contenders) or alone else {},
            rounds=0,
        )

    def run(self, rounds: int, file: Path | None) -> None:
        """Play the rounds; write the file after each, so that nothing is lost if this is interrupted."""
        for number in range(1, rounds + 1):
            self._round(number)
            self.findings = self.findings.model_copy(
                update={"rounds": number, "load": (self.findings.load[0], _load())}
            )
            if file is not None:
                self.findings.write(file)

    def _round(self, number: int) -> None:
        everyone = [*self._contenders, *self._alone]
        random.shuffle(everyone)
        for name in everyone:
            if name in self.findings.left_out:
                continue
            try:
                if name in self._contenders:
                    self._play(number, self._contenders[name])
                else:
                    self._measure(number, name)
            except (BrokerMissing, NoPostgresError, ContenderError, RuntimeError, TimeoutError) as error:
                self.findings.left_out[name] = str(error).partition("\n")[0]
                self._tell(f"{name}: left out: {error}")

    def _play(self, number: int, contender: Contender) -> None:
        with ExitStack() as held:
            playing = held.enter_context(player(contender))
            played = Played(settings=playing.settings, versions=playing.versions)
            self.findings.contenders[contender.name] = played
            for turns, conversations in self._loops + (self._once if number == 1 else []):
                sample = playing.play(number, turns, conversations)
                self.findings.samples.append(sample)
                cpu = ", ".join(f"{group} {value:.2f}" for group, value in sample.cpu_ms.items())
                loop = f"{turns:>4} turns {conversations:>3} at once"
                self._tell(f"{number:>2}  {contender.name:<26}{loop} {sample.rate:>9.0f} turns/s   CPU ms {cpu}")

    def _measure(self, number: int, name: str) -> None:
        for figure, value in figures.ALL[name]().items():
            self.findings.figures.append(Figure(name=figure, round=number, value=value))
            self._tell(f"{number:>2}  {figure}: {value:.2f}")


def _load() -> float:
    return round(os.getloadavg()[0], 1)


def _servers() -> dict[str, str]:
    """The servers' versions and settings, as found; those that are not there are not mentioned."""
    found = {}
    try:
        with psycopg.connect(postgres_server()) as connection:
            shown = {name: connection.execute(f"SHOW {name}".encode()).fetchone() for name in _POSTGRES_SETTINGS}
        told = {name: str(row[0]) for name, row in shown.items() if row is not None}
        version = told.pop("server_version")
        found["PostgreSQL"] = f"{version}, {', '.join(f'{name}={value}' for name, value in told.items())}"
    except NoPostgresError:
        pass
    try:
        with Connection(AMQP_URL, connect_timeout=3) as connection:
            connection.connect()
            found["RabbitMQ"] = str(connection.connection.server_properties["version"])
    except OSError:
        pass
    return found
