"""Processes of `turnwise`, forked from a process that has imported it already (see `fork_server`)."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from tests.support import fork_server

# Read by Python itself when it starts, so a forked process cannot have others than the server.
_READ_AT_START = {name for name in os.environ if name.startswith("PYTHON")} - {"PYTHONPATH", "PYTHONUNBUFFERED"}


def can_fork(python: str, env: Mapping[str, str], cwd: Path) -> bool:
    """Return whether a process of that interpreter, environment and folder may be forked instead of started."""
    if any(name.upper().startswith(fork_server.READ_AT_IMPORT) for name in env):
        return False
    if any((folder / "turnwise").exists() for folder in (cwd, *map(Path, _paths(env)))):
        return False  # another Turnwise than the one that is imported
    given = {name for name in env if name.startswith("PYTHON")} - {"PYTHONPATH", "PYTHONUNBUFFERED"}
    same = given == _READ_AT_START and all(env[name] == os.environ.get(name) for name in given)
    return sys.platform == "linux" and python == sys.executable and same


def _paths(env: Mapping[str, str]) -> list[str]:
    return [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]


class ForkedProcess:
    """A `turnwise` command in a session of its own; it has of `subprocess.Popen` what tests use."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        output: IO[bytes],
        errors: IO[bytes] | None = None,
    ) -> None:
        request = json.dumps({"arguments": list(arguments), "env": dict(env), "cwd": str(cwd)}).encode()
        assert len(request) < fork_server.MAX_REQUEST
        status, told = os.pipe()
        try:
            socket.send_fds(_server(), [request], [output.fileno(), (errors or output).fileno(), told])
        finally:
            os.close(told)
        self._status = os.fdopen(status, "rb", buffering=0)
        self.returncode: int | None = None
        self.pid = int(self._status.readline())

    def poll(self) -> int | None:
        """Return its exit code, negative for a signal; None while it runs."""
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit code once it has ended; raises `TimeoutExpired` after `timeout` seconds."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("turnwise", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def tell_threads(self) -> None:
        """Have it write where its threads are to its errors."""
        self.send_signal(fork_server.TELL_THREADS)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode


def run_forked(
    arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path, seconds: float
) -> subprocess.CompletedProcess[str]:
    """A `turnwise` command that ends by itself, with its output; raises `TimeoutExpired` after that many seconds."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = ForkedProcess(arguments, env=env, cwd=cwd, output=output, errors=errors)
        try:
            code = process.wait(seconds)
        except BaseException:
            process.kill()
            raise
        for file in (output, errors):
            file.seek(0)
        told = output.read().decode(), errors.read().decode()
    return subprocess.CompletedProcess(["turnwise", *arguments], code, *told)


@functools.cache
def _server() -> socket.socket:
    """The server of this process; it ends with it."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, fork_server.MAX_REQUEST)
    others = ("PYTHONPATH", *fork_server.VARIABLES)
    env = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    with there:
        server = subprocess.Popen(
            [sys.executable, "-P", str(Path(fork_server.__file__))],
            stdin=there.fileno(),
            env=env,
            start_new_session=True,
        )
    atexit.register(_end, here, server)
    return here


def _end(here: socket.socket, server: subprocess.Popen[bytes]) -> None:
    here.close()
    server.wait(timeout=10)
