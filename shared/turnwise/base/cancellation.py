"""Cutting work short: a token that whoever works looks at, and that ends what it waits for.

A run opens one around each call of a responder, and within it a model's answer or a tool with a time limit opens one
of its own. Whoever blocks (a model client on its socket, a pause before another try) registers with the current one
how it is woken. The innermost open token is the current one; it is cancelled with those around it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING

from turnwise.base.call_context import CallContext, CallPart, current_call, enter, leave
from turnwise.base.clock import SYSTEM_CLOCK, Clock
from turnwise.base.deadlines import DeadlineWatch, DueCall
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
        # True once the work under it has killed itself.
        self._by_itself = False
        # Reentrant, because what is woken may look at the token.
        self._lock = threading.RLock()
        self._callbacks: dict[object, Callable[[], object]] = {}

    @property
    def cause(self) -> Cause | None:
        """Return why it was cancelled, itself or with one around it; None if it was not."""
        if self._cause is None and self._due is None and self.parent is None:
            return None  # as nearly always
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

    @property
    def late(self) -> bool:
        """Return whether work under it that ends now is no longer wanted; its last word is, if it ended itself."""
        if self._cause is None and self._due is None and self.parent is None:
            return False  # as nearly always
        origin = self.origin
        return origin is not None and not origin._by_itself

    def cancel(self, cause: Cause) -> None:
        """Cancelled what is done under it; only the first cause counts."""
        with self._lock:
            if self._cause is None:
                self._cause = cause
                # A deadline may be noticed by the work that it ends.
                self._by_itself = cause is Cause.KILLED and self.is_around(current_cancellation())
            callbacks, self._callbacks = list(self._callbacks.values()), {}
            # Called under the lock: a callback that has left `on_cancel` is no longer called.
            for callback in callbacks:
                callback()

    def is_around(self, other: Cancellation | None) -> bool:
        """Return whether the other token is this one, or within it."""
        while other is not None and other is not self:
            other = other.parent
        return other is self

    def check(self) -> None:
        """Raise `CallCancelledError` if it was cancelled."""
        if self.cause is not None:
            origin = self.origin
            assert origin is not None, "it has a cause"
            raise origin._error()

    def on_cancel(self, callback: Callable[[], object]) -> _OnCancel:
        """Call `callback` if it is cancelled during the block (at once if it was before), on any thread.

        The callback has to be quick, and may not raise.
        """
        return _OnCancel(self, callback)

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

    def _watched(self) -> DueCall | None:
        """Have its deadline watched for, if it has one; whoever asked for it withdraws it."""
        if self._due is None:
            return None
        return DeadlineWatch.of(self._clock).add(self._due, partial(self.cancel, self._late))

    def _error(self) -> CallCancelledError:
        cause = self._cause
        assert cause is not None
        if cause is Cause.TIMEOUT:
            return CallTimeoutError(f"{self._what} took longer than {self._seconds:g} s", self)
        return CallCancelledError(_WHY[cause], self)


_WHY = {
    Cause.KILLED: "the call was cancelled: its run was ended",
    Cause.DEADLINE: "the call was cancelled: its run's time is over",
    Cause.LOST: "the call was cancelled: its work was given to another worker",
    Cause.DRAINED: "the call was cancelled: its process has to end, another one makes it again",
}


class _OnCancel:
    """The block in which a callback is called if a token, or one around it, is cancelled."""

    __slots__ = ("_callback", "_outer", "_token")

    def __init__(self, token: Cancellation, callback: Callable[[], object]) -> None:
        self._token = token
        self._callback = callback
        self._outer = None if token.parent is None else _OnCancel(token.parent, callback)

    def __enter__(self) -> None:
        token = self._token
        with token._lock:
            token._callbacks[self] = self._callback
        if token.origin is not None:
            self._callback()
        if self._outer is not None:
            self._outer.__enter__()

    def __exit__(self, *_: object) -> None:
        if self._outer is not None:
            self._outer.__exit__()
        with self._token._lock:
            self._token._callbacks.pop(self, None)


class _Open:
    """The block in which a token is the current one."""

    __slots__ = ("_call", "_outer", "_token", "_watched")

    def __init__(self, token: Cancellation, call: CallContext | None) -> None:
        self._token = token
        self._call = call

    def __enter__(self) -> None:
        token = self._token
        token.check()
        self._watched = token._watched() if token._due is not None else None
        self._outer = enter(_context(token, self._call))

    def __exit__(self, *_: object) -> None:
        leave(self._outer)
        if self._watched is not None:
            self._watched.withdraw()


class _Opened:
    """As `asyncio.timeout` does it: the task is cancelled, and its cancellation becomes our error on the way out.

    A plain block, because logic that is driven either way (see `sync_async`) has no `async with`.
    """

    __slots__ = ("_before", "_call", "_cancellation", "_left", "_loop", "_outer", "_struck", "_task", "_watched")

    def __init__(self, token: Cancellation, call: CallContext | None) -> None:
        self._cancellation = token
        self._call = call
        self._struck = self._left = False

    def __enter__(self) -> None:
        import asyncio  # loaded only where something is asynchronous

        cancellation = self._cancellation
        cancellation.check()
        self._loop = asyncio.get_running_loop()
        task: asyncio.Task[object] | None = asyncio.current_task(self._loop)
        assert task is not None, "asynchronous calls are made in a task"
        self._task, self._before = task, task.cancelling()
        self._outer = enter(_context(cancellation, self._call))
        self._watched = cancellation._watched() if cancellation._due is not None else None
        # As `on_cancel` does it, without more objects: very many blocks may be open at once.
        token: Cancellation | None = cancellation
        while token is not None:
            with token._lock:
                token._callbacks[self] = self
            token = token.parent
        if cancellation.cause is not None:
            self()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._left = True
        token: Cancellation | None = self._cancellation
        while token is not None:
            with token._lock:
                token._callbacks.pop(self, None)
            token = token.parent
        if self._watched is not None:
            self._watched.withdraw()
        leave(self._outer)
        if self._struck and self._task.uncancel() <= self._before:
            import asyncio

            if isinstance(error, asyncio.CancelledError):
                origin = self._cancellation.origin
                assert origin is not None
                raise origin._error() from None

    def __call__(self) -> None:
        """It was cancelled."""
        self._loop.call_soon_threadsafe(self._strike)

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
    returns afterwards is thrown away, unless it has killed the run itself.
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
