"""Keeps one service running, as Docker would: asks for its health, starts it again, ends it in good order."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

from deploy.without_docker.compose_file import Health, Service
from deploy.without_docker.errors import ComposeError
from deploy.without_docker.program import Program

# Seconds before a start after an end, doubled from one to the next; a service that lasted is forgiven.
_FIRST_PAUSE, _LONGEST_PAUSE, _LASTED = 0.1, 60.0, 10.0
# Seconds between two looks while a service comes up, doubled up to the longest: a look costs 0.1 s of CPU.
_FIRST_LOOK, _LONGEST_LOOK = 0.25, 2.0
_PR_SET_PDEATHSIG = 1
# What is left to be read of an output whose process is gone.
_LAST_WORDS = 2.0


class Keeper:
    """`tell` is given every line that the service prints, and what happens to it.

    `started` and `healthy` are set and cleared as it comes and goes; `ended` has the exit code of its last process,
    once it is not started again.
    """

    def __init__(self, service: Service, program: Program, tell: Callable[[str], None]) -> None:
        self.started, self.healthy = asyncio.Event(), asyncio.Event()
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.killed = False
        self._service, self._program, self._tell = service, program, tell
        self._process: asyncio.subprocess.Process | None = None
        self._running = False
        self._stopping = asyncio.Event()

    @property
    def ready(self) -> asyncio.Event:
        """Return the condition under which it can be used: its health, or that it runs where it has no check."""
        return self.started if self._program.answers is None else self.healthy

    async def run(self) -> int:
        """Start it, and again as its restart policy says; returns when it is not started again, with `ended` set.

        Raises `ComposeError` if it cannot be started at all.
        """
        loop = asyncio.get_running_loop()
        self._running = True
        starts, pause = 0, _FIRST_PAUSE
        while True:
            began = loop.time()
            code = await self._run_once()
            if self._stopping.is_set() or not self._again(code, starts):
                break
            starts += 1
            pause = _FIRST_PAUSE if loop.time() - began > _LASTED else min(2 * pause, _LONGEST_PAUSE)
            self._tell(f"ended ({_word(code)}); started again in {pause:.1f} s")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
            if self._stopping.is_set():
                break
        self._tell(f"ended ({_word(code)})")
        self.ended.set_result(code)
        return code

    async def stop(self) -> None:
        """Ask it to end, and insist once its grace period is over; returns when it is gone."""
        self._stopping.set()
        if not self._running:
            return
        self._ask_to_end()
        try:
            await asyncio.wait_for(asyncio.shield(self.ended), self._service.stop_grace_period)
        except TimeoutError:
            self._tell(f"did not end within {self._service.stop_grace_period:g} s, so it is killed")
            self.kill()
            await self.ended

    def kill(self) -> None:
        """End it, and whatever it has started, at once."""
        self.killed = True
        self._stopping.set()
        if self._process is not None:
            _kill_group(self._process.pid)

    def _ask_to_end(self) -> None:
        with suppress(ProcessLookupError):
            if self._process is not None:
                self._process.send_signal(self._program.stop_signal)

    async def _run_once(self) -> int:
        process, output = await self._start()
        self._process = process
        self._tell(f"started (pid {process.pid})")
        self.started.set()
        if self._stopping.is_set():  # while it was started
            self._ask_to_end()
        reading, asking = asyncio.create_task(self._read(output)), asyncio.create_task(self._ask())
        try:
            return await process.wait()
        finally:
            asking.cancel()
            self.started.clear()
            self.healthy.clear()
            self._process = None
            _kill_group(process.pid)  # what it has left behind
            await asyncio.wait([reading], timeout=_LAST_WORDS)
            reading.cancel()
            await asyncio.to_thread(self._program.clean_up)

    async def _start(self) -> tuple[asyncio.subprocess.Process, asyncio.StreamReader]:
        """The process, and what it prints.

        Its output is a pipe of our own: asyncio would take a process for alive while anybody holds one of asyncio's.
        """
        program = self._program
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
        read_end, write_end = os.pipe()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb"))
        try:
            process = await asyncio.create_subprocess_exec(
                *program.command,
                env=program.environment,
                cwd=program.folder,
                user=program.user,
                group=program.user,
                extra_groups=[] if program.user else None,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                # Ctrl-C is for us: we end services in their order.
                start_new_session=True,
                preexec_fn=_end_with_us if sys.platform == "linux" else None,
            )
        except OSError as error:
            self._running = False
            raise ComposeError(
                f"{program.command[0]} cannot be started in {program.folder}: {error.strerror}"
            ) from error
        finally:
            os.close(write_end)
        return process, reader

    async def _read(self, output: asyncio.StreamReader) -> None:
        rest = b""
        while data := await output.read(65_536):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._tell(line.decode(errors="replace"))
        if rest:
            self._tell(rest.decode(errors="replace"))

    async def _ask(self) -> None:
        """Look at its health for as long as it runs: often until it answers, then at its interval."""
        answers, health = self._program.answers, self._service.healthcheck or Health()
        if answers is None:
            return
        loop = asyncio.get_running_loop()
        began, unhealthy = loop.time(), False
        while True:
            pause = _FIRST_LOOK
            while not await asyncio.to_thread(answers):
                if not unhealthy and loop.time() - began > health.start_period + health.retries * health.interval:
                    unhealthy = self._tell_unhealthy()
                await asyncio.sleep(min(pause, health.interval))
                pause = min(2 * pause, _LONGEST_LOOK)
            self._tell(f"healthy after {loop.time() - began:.1f} s")
            self.healthy.set()
            failures = 0
            while failures < health.retries:
                await asyncio.sleep(health.interval)
                failures = 0 if await asyncio.to_thread(answers) else failures + 1
            began, unhealthy = loop.time(), self._tell_unhealthy()

    def _tell_unhealthy(self) -> bool:
        self._tell("unhealthy: it does not answer as it should; those that wait for it go on waiting")
        self.healthy.clear()
        return True

    def _again(self, code: int, starts: int) -> bool:
        policy, _, most = self._service.restart.partition(":")
        if policy == "on-failure":
            return code != 0 and (not most or starts < int(most))
        return policy in ("always", "unless-stopped")


def _word(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _end_with_us() -> None:
    """In the child: it is told to end when this process is gone, even by kill -9."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
