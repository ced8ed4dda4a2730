"""A PostgreSQL, a RabbitMQ and a Redis of the run's own, which it may stop, crash and start again.

Each has its data under a folder of the run and a port of its own, so no server that runs here already is touched.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from deploy.without_docker.errors import ServerMissingError
from deploy.without_docker.servers import PostgresProgram, RabbitMQProgram, RedisProgram, ServerProgram
from tests.e2e.waiting import until

__all__ = ["Postgres", "RabbitMQ", "Redis", "Server", "ServerMissingError"]

# Seconds: RabbitMQ takes some even when nobody else wants the processor.
_START = 120.0
_STOP = 60.0


class Server(ServerProgram):
    """A server that is started by `start` and answers at `url`."""

    crash_signal = signal.SIGKILL
    _process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; `await_answer` says when it can be used."""
        command, env = self.command()
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                env=dict(env),
                cwd=self.folder,
                user=self.user,
                group=self.user,
                extra_groups=[] if self.user else None,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def await_answer(self) -> None:
        """Return once it answers; raises `RuntimeError` with its log if it ended instead."""
        until(self._look, f"{self.name} to answer", patience=_START)

    def stop(self) -> None:
        """End it in good order."""
        self._end(self.stop_signal)

    def crash(self) -> None:
        """End it at once, as a crash does."""
        self._end(self.crash_signal)

    def close(self) -> None:
        """End it for good."""
        if self._process is not None:
            self.crash()
        self.clean_up()

    def log(self) -> str:
        """The end of what it has printed."""
        return (self.folder / "server.log").read_text(errors="replace")[-4000:]

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        # The group: RabbitMQ and PostgreSQL are more than one process.
        if how is signal.SIGKILL:
            os.killpg(process.pid, how)
        else:
            process.send_signal(how)
        try:
            process.wait(_STOP)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _look(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self._process.returncode}:\n{self.log()}")
        return self.answers()


class Postgres(Server, PostgresProgram):
    """An empty database that trusts whoever asks; `stop` is its fast mode, `crash` its immediate one."""

    crash_signal = signal.SIGQUIT

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, options=["-c", "max_connections=400"])


class RabbitMQ(Server, RabbitMQProgram):
    """A node of its own, with the usual guest."""


class Redis(Server, RedisProgram):
    """Redis that keeps nothing: after a restart it is empty."""
