"""Cutting work short: a token that whoever works looks at, and that ends what it waits for.

A run opens one around each call of a responder, and within it a model's answer or a tool with a time limit opens one
of its own. Whoever blocks (a model client on its socket, a pause before another try) registers with the current one
how it is woken. The innermost open token is the current one; it is cancelled with those around it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING

from turnwise.base.call_context import CallContext, CallPart, current_call
from turnwise.base.clock import SYSTEM_CLOCK, Clock
from turnwise.base.deadlines import DeadlineWatch
from turnwise.errors import CallCancelledError, CallTimeoutError

if TYPE_CHECKING:
    import asyncio


class Cause(str, Enum):
    """The reason to cancel work.

    `KILLED`: someone ended the run. `DEADLINE`: the run's time is over. `TIMEOUT`: this one answer, or tool, takes
    longer than it may. `LOST`: the work is another's by now. `DRAINED`: this process ends, another does the work.
    """

    KILLED = "killed"
    DEADLINE = "deadline"
    TIMEOUT = "timeout"
    LOST = "lost"
    DRAINED = "drained"


class Cancellation:
    """A signal, given once and from any thread, that the work under it is no longer wanted.

    After `seconds` (None: never) it is cancelled with the cause `late`; `what` says for errors what took so long. It
    is cancelled with its `parent`, too.
    """

    def __init__(
        self,
        *,
        parent: Cancellation | None = None,
        seconds: float | None = None,
        late: Cause = Cause.DEADLINE,
        what: str = "the run",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.parent = parent
        self._clock = clock
        self._seconds, self._late, self._what = seconds, late, what
        self._due = None if seconds is None else clock.monotonic() + seconds
        self._cause: Cause | None = None
        # Reentrant, because what is woken may look at the token.
        self._lock = threading.RLock()
        self._callbacks: dict[object, Callable[[], object]] = {}

    @property
    def cause(self) -> Cause | None:
        """Return why it was cancelled, itself or with one around it; None if it was not."""
        origin = self.origin
        return origin._cause if origin is not None else None

    @property
    def origin(self) -> Cancellation | None:
        """The outermost of this token and those around it that was cancelled; None if none was."""
        outer = self.parent.origin if self.parent is not None else None
        if outer is not None:
            return outer
        if self._cause is None and self._due is not None and self._clock.monotonic() >= self._due:
            self.cancel(self._late)
        return self if self._cause is not None else None

    def cancel(self, cause: Cause) -> None:
        """Cancelled what is done under it; only the first cause counts."""
        with self._lock:
            if self._cause is None:
                self._cause = cause
            callbacks, self._callbacks = list(self._callbacks.values()), {}
            # Called under the lock: a callback that has left `on_cancel` is no longer called.
            for callback in callbacks:
                callback()

    def check(self) -> None:
        """Raise `CallCancelledError` if it was cancelled."""
        origin = self.origin
        if origin is not None:
            raise origin._error()

    @contextmanager
    def on_cancel(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call `callback` if it is cancelled during the block (at once if it was before), on any thread.

        The callback has to be quick, and may not raise.
        """
        key = object()
        with self._lock:
            self._callbacks[key] = callback
        try:
            if self.origin is not None:
                callback()
            if self.parent is not None:
                with self.parent.on_cancel(callback):
                    yield
            else:
                yield
        finally:
            with self._lock:
                self._callbacks.pop(key, None)

    def open(self, call: CallContext | None = None) -> _Open:
        """Make it the current one for the block; raises `CallCancelledError` instead if it was cancelled already.

        `call` is the context of the block; by default the current one.
        """
        return _Open(self, call)

    def opened(self, call: CallContext | None = None) -> _Opened:
        """`open` where calls are awaited: cancelling it cancels the `asyncio` task that is in the block."""
        return _Opened(self, call)

    def wait(self, seconds: float) -> None:
        """Wait in this thread; raises `CallCancelledError` as soon as it is cancelled."""
        woken = self._clock.event()
        with self.on_cancel(woken.set):
            woken.wait(seconds)
        self.check()

    def _watched(self) -> _Watching:
        return _Watching(self)

    def _error(self) -> CallCancelledError:
        cause = self._cause
        assert cause is not None
        if cause is Cause.TIMEOUT:
            return CallTimeoutError(f"{self._what} took longer than {self._seconds:g} s", self)
        return CallCancelledError(_WHY[cause], self)


_WHY = {
    Cause.KILLED: "the call was cut short: its run was ended",
    Cause.DEADLINE: "the call was cut short: its run's time is over",
    Cause.LOST: "the call was cut short: its work was given to another worker",
    Cause.DRAINED: "the call was cut short: its process has to end, another one makes it again",
}


class _Watching:
    """The time in which a deadline is watched for; costs nothing where there is none."""

    __slots__ = ("_entry", "_token")

    def __init__(self, token: Cancellation) -> None:
        self._token = token

    def __enter__(self) -> None:
        token = self._token
        if token._due is not None:
            late = token._late
            self._entry = DeadlineWatch.of(token._clock).add(token._due, lambda: token.cancel(late))

    def __exit__(self, *_: object) -> None:
        if self._token._due is not None:
            self._entry.withdraw()


class _Open:
    """The block in which a token is the current one."""

    __slots__ = ("_bound", "_call", "_token", "_watching")

    def __init__(self, token: Cancellation, call: CallContext | None) -> None:
        self._token = token
        self._call = call

    def __enter__(self) -> None:
        token = self._token
        token.check()
        self._watching = token._watched()
        self._watching.__enter__()
        self._bound = _context(token, self._call).open()
        self._bound.__enter__()

    def __exit__(self, *_: object) -> None:
        self._bound.__exit__()
        self._watching.__exit__()


class _Opened:
    """As `asyncio.timeout` does it: the task is cancelled, and its cancellation becomes our error on the way out.

    A plain block, because logic that is driven either way (see `sync_async`) has no `async with`.
    """

    def __init__(self, token: Cancellation, call: CallContext | None) -> None:
        self._cancellation = token
        self._call = call
        self._struck = self._left = False

    def __enter__(self) -> None:
        import asyncio  # loaded only where something is asynchronous

        cancellation = self._cancellation
        cancellation.check()
        task: asyncio.Task[object] | None = asyncio.current_task()
        assert task is not None, "asynchronous calls are made in a task"
        self._task, self._loop = task, asyncio.get_running_loop()
        self._before, self._interruption = task.cancelling(), asyncio.CancelledError
        self._bound = _context(cancellation, self._call).open()
        self._bound.__enter__()
        self._watching = cancellation._watched()
        self._watching.__enter__()
        self._registered = cancellation.on_cancel(lambda: self._loop.call_soon_threadsafe(self._strike))
        self._registered.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._left = True
        self._registered.__exit__(None, None, None)
        self._watching.__exit__()
        self._bound.__exit__()
        if self._struck and self._task.uncancel() <= self._before and isinstance(error, self._interruption):
            origin = self._cancellation.origin
            assert origin is not None
            raise origin._error() from None

    def _strike(self) -> None:
        # On the loop's own thread, so the block is either left or not.
        if not self._left and not self._struck:
            self._struck = True
            self._task.cancel()


CANCELLATION = CallPart[Cancellation | None](None)


def _context(token: Cancellation, call: CallContext | None) -> CallContext:
    call = current_call() if call is None else call
    return call if call[CANCELLATION] is token else call.but(CANCELLATION, token)


def current_cancellation() -> Cancellation | None:
    """The token under which is worked here; None outside of a run."""
    return current_call()[CANCELLATION]


def cancelled() -> bool:
    """Return whether the work that calls this is no longer wanted: its run was ended, or its time is over.

    A synchronous tool handler that takes long should look at it now and then, because no one can interrupt it. What it
    returns afterwards is thrown away.
    """
    current = current_call()[CANCELLATION]
    return current is not None and current.origin is not None


def check_cancelled() -> None:
    """Raise `CallCancelledError` if the work that calls this is no longer wanted; see `cancelled`."""
    current = current_call()[CANCELLATION]
    if current is not None:
        current.check()


def pause(seconds: float) -> None:
    """Wait in this thread; raises `CallCancelledError` as soon as the current token is cancelled."""
    current = current_call()[CANCELLATION]
    if current is not None:
        current.wait(seconds)
    else:
        SYSTEM_CLOCK.sleep(seconds)
