"""Processes of Turnwise, started as an operator would, with their output in files."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from tests.e2e.waiting import until
from tests.support import ports
from tests.support.forked import ForkedProcess, can_fork, run_forked

_ROOT = Path(__file__).parent.parent.parent
# Seconds. Several processes that start at once on a loaded machine take their time.
_START = 180.0
_END = 60.0
_COMMAND = ["-m", "turnwise.cli.main"]
APP = "tests.e2e.application:app"
free_port = ports.free_port


def environment(**settings: str) -> dict[str, str]:
    """This process's environment with `TURNWISE_*` settings (given in lower case), and none of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TURNWISE_")}
    paths = [str(_ROOT), *filter(None, [kept.get("PYTHONPATH")])]
    given = {f"TURNWISE_{name.upper()}": value for name, value in settings.items()}
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1", **given}


class Process:
    """A `turnwise` command that runs; `url` is where its `/health/ready` and `/metrics` are.

    With `may_fork=False` it has imported nothing that it does not need, so its memory is that of a user's process.
    """

    def __init__(
        self,
        arguments: list[str],
        env: Mapping[str, str],
        url: str,
        log: Path,
        python: str = sys.executable,
        *,
        may_fork: bool = True,
    ) -> None:
        self.name = " ".join(arguments)
        self.url = url
        self._log = log
        with log.open("ab") as output:
            # One that has imported Turnwise already is forked where that makes no difference.
            forked = may_fork and can_fork(python, env, log.parent)
            start = ForkedProcess if forked else functools.partial(_started, python)
            self._popen: subprocess.Popen[bytes] | ForkedProcess = start(
                arguments, env=env, cwd=log.parent, output=output
            )

    @property
    def pid(self) -> int:
        """The operating system's number of it."""
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Return whether it has not ended yet."""
        return self._popen.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Return its exit code, negative for a signal; None while it runs."""
        return self._popen.poll()

    @property
    def ready(self) -> bool:
        """Return whether it can work now."""
        try:
            self.page("/health/ready")
        except (HTTPError, URLError, OSError):
            return False
        return True

    def wait_ready(self) -> None:
        """Return once it can work; raises `RuntimeError` with its output if it ends before."""
        until(self._is_ready, f"`{self.name}` to be ready", patience=_START)

    def kill(self) -> None:
        """End it at once (kill -9), and reap it."""
        self._popen.send_signal(signal.SIGKILL)
        self._popen.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._popen.send_signal(number)

    def tell_threads(self) -> None:
        """Have it print where its threads are, if it was forked; one that was started cannot."""
        if isinstance(self._popen, ForkedProcess):
            before = self._log.stat().st_size
            self._popen.tell_threads()
            with contextlib.suppress(TimeoutError):
                until(lambda: self._log.stat().st_size > before, "its threads", patience=5)

    def terminate(self) -> None:
        """Ask it to end."""
        self._popen.terminate()

    def stop(self) -> None:
        """Ask it to end, and insist after a while; returns when it is gone."""
        self.terminate()
        try:
            self._popen.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.kill()

    def output(self) -> str:
        """Return what it has printed so far."""
        return self._log.read_text(errors="replace")

    def page(self, path: str) -> str:
        """The body of a GET of its own port."""
        with urlopen(self.url + path, timeout=10) as response:
            return str(response.read().decode())

    def readiness(self) -> tuple[int, str]:
        """The status and the body of what it answers a probe of its readiness."""
        try:
            return 200, self.page("/health/ready")
        except HTTPError as error:
            return error.code, error.read().decode()

    def _is_ready(self) -> bool:
        if self._popen.poll() is not None:
            raise RuntimeError(f"`{self.name}` ended with {self._popen.returncode}:\n{self.output()[-4000:]}")
        return self.ready


def run_command(
    arguments: list[str], env: Mapping[str, str], cwd: Path, python: str = sys.executable, under: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """A `turnwise` command that ends by itself, with its output; `under` is a program that starts it."""
    if not under and can_fork(python, env, cwd):
        return run_forked(arguments, env=env, cwd=cwd, seconds=_END)
    return subprocess.run(
        [*under, python, *_COMMAND, *arguments],
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_END,
        check=False,
    )


def _started(
    python: str, arguments: list[str], *, env: Mapping[str, str], cwd: Path, output: IO[bytes]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [python, *_COMMAND, *arguments],
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        # A session of its own: Linux shares the processor between sessions first.
        start_new_session=True,
    )
