"""Exceptions that end a process, in contrast to those that code of an application may raise."""

from __future__ import annotations

import threading


class ProcessKilled(BaseException):
    """Unwinds a thread whose simulated process is dead: as after a real kill, none of its code continues."""


class StopRequested(SystemExit):
    """A signal asked the process to end, and no code of an application did."""


def ends_process(error: BaseException) -> bool:
    """Return whether the error must be passed on, because it ends the process.

    `SystemExit` and `KeyboardInterrupt` do so in the main thread, where signals arrive. In any other thread they end
    nothing but the thread, so code that raises them there has failed, as with any other exception.
    """
    if isinstance(error, SystemExit | KeyboardInterrupt):
        return threading.current_thread() is threading.main_thread()
    return isinstance(error, ProcessKilled)
