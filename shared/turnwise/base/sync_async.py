"""One body of logic for sync and async callers.

Logic that has to call out (a model, a handler, a human) is a generator: it yields an `Effect` and is sent what the
call returned. `run_sync` and `run_async` are the only two places that know how a call is made. They are begun where a
program calls; logic that continues in other logic says `yield from`, so that one of the two drives all of it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from types import coroutine
from typing import Any, NamedTuple, Protocol, TypeVar

from turnwise.errors import ConfigurationError

T = TypeVar("T")


class Effect(NamedTuple):
    """A call to make: `sync` makes it; `awaited`, where given, makes it without blocking an event loop."""

    sync: Callable[[], Any]
    awaited: Callable[[], Awaitable[Any]] | None = None


class Callout(Protocol):
    """An `Effect`, or a call with these two as methods, which is one object where an effect of closures is ten."""

    @property
    def sync(self) -> Callable[[], Any]: ...

    @property
    def awaited(self) -> Callable[[], Awaitable[Any]] | None: ...


Steps = Generator[Callout, Any, T]


async def _true() -> bool:
    return True


# Tells the logic whether its calls are awaited, for what has to be done in another way then.
AWAITED = Effect(sync=lambda: False, awaited=_true)


def run_sync(steps: Steps[T]) -> T:
    """Run the logic to its end in this thread; errors of calls are thrown into it."""
    try:
        effect = next(steps)
        while True:
            try:
                value = effect.sync()
            except BaseException as error:  # noqa: BLE001 - thrown into the logic, which may handle it
                effect = steps.throw(error)
            else:
                effect = steps.send(value)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


async def run_async(steps: Steps[T]) -> T:
    """The same, awaiting the calls that can be awaited."""
    try:
        effect = next(steps)
        while True:
            try:
                value = await effect.awaited() if effect.awaited is not None else effect.sync()
            except BaseException as error:  # noqa: BLE001 - thrown into the logic, which may handle it
                effect = steps.throw(error)
            else:
                effect = steps.send(value)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


@coroutine
def breath() -> Generator[None, None, None]:
    """Let the other coroutines of the event loop run once."""
    yield


def one_call(call: Callout) -> Steps[Any]:
    """Return what the call returns."""
    return (yield call)


def is_unfinished(value: Any) -> bool:
    """Return whether the value has to be awaited."""
    return hasattr(type(value), "__await__")


def refuse_unfinished(value: Any, name: str, twin: str | None = None) -> None:
    """Raise `ConfigurationError` where the plain function `name` returned what has to be awaited, or iterated."""
    if is_unfinished(value) or isinstance(value, Generator | AsyncGenerator):
        if isinstance(value, Coroutine | Generator):
            value.close()  # it would be told that it was never awaited
        cure = f"set {twin} to it" if twin is not None else "make it one that is not async"
        if isinstance(value, Generator | AsyncGenerator):
            cure = "let it return its answer"
        raise ConfigurationError(f"{name} is no plain function: it returned {type(value).__name__}; {cure}")


def refuse_finished(value: Any, name: str, twin: str) -> None:
    """Raise `ConfigurationError` where the async function `name` returned what cannot be awaited."""
    if not is_unfinished(value):
        raise ConfigurationError(
            f"{name} is no async function: it returned {type(value).__name__}; make it one, or set {twin} to it"
        )


def finished(value: Any) -> Steps[Any]:
    """Return what is behind a value that has to be awaited; any other value itself."""
    if not is_unfinished(value):
        return value

    async def awaited() -> Any:
        return await value

    result = yield Effect(sync=waited_for(awaited), awaited=awaited)
    return result


def waited_for(awaited: Callable[[], Awaitable[Any]]) -> Callable[[], Any]:
    """A synchronous call that waits for an asynchronous one, which is made in the background."""

    def wait() -> Any:
        # Loaded only where something is asynchronous.
        from turnwise.base.background_loop import run_in_background

        return run_in_background(awaited)

    return wait
