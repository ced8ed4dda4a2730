"""A worker's answers to `celery control` and `celery inspect`: each command works, or is refused with a reason.

Commands are broadcast to whatever consumes from the broker, and Celery's own do what they say: a queue that is added
without its kind ends a worker that cannot declare it so, a time limit kills a child in the middle of an answer.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any

from celery.worker.consumer.control import Control

from turnwise.bus.routing import queue_of_lane
from turnwise.bus.worker.queue_switches import switches_of
from turnwise.errors import ConflictError, InvalidRequestError, TurnwiseError
from turnwise.observability.redaction import redact

logger = logging.getLogger(__name__)

Reply = Any
Command = Callable[..., Reply]

# They look at the worker, or at what it tells monitors, and change nothing of its work.
_LOOKS = ("ping", "stats", "report", "conf", "dump_conf", "clock", "memsample", "memdump", "active_queues")
_LISTS = ("scheduled", "reserved", "active", "revoked", "registered", "query_task")
_OLD_NAMES = ("dump_schedule", "dump_reserved", "dump_active", "dump_revoked", "dump_tasks")
_EVENTS = ("enable_events", "disable_events", "heartbeat")
_AS_IN_CELERY = frozenset((*_LOOKS, *_LISTS, *_OLD_NAMES, *_EVENTS))
_CANCEL = "a message is only a wake-up; end the run with `turnwise cancel RUN`"
_NOT_SUPPORTED = "it is not supported by these workers"
_REFUSED = {
    "revoke": _CANCEL,
    "terminate": _CANCEL,
    "revoke_by_stamped_headers": _CANCEL,
    "rate_limit": "the pace of calls is set for the provider, in the application's configuration",
    "time_limit": "how long something may take is the run's deadline, or the call's timeout",
    "pool_restart": f"{_NOT_SUPPORTED}; end the process, and start another",
}
# Children that one command may add; more is rather a slip.
_MOST_AT_ONCE = 64


class RemoteCommands(dict[str, Command]):
    """The commands by name, over Celery's `panel` of them; one that does not exist is refused like others."""

    def __init__(self, panel: Mapping[str, Command]) -> None:
        super().__init__({name: _guarded(name, panel[name]) for name in panel if name in _AS_IN_CELERY})
        self.update({name: _guarded(name, _refusing(why)) for name, why in _REFUSED.items()})
        self.update({name: _guarded(name, _refusing(_NOT_SUPPORTED)) for name in panel if name not in self})
        pool: dict[str, Command] = {name: _over(own, panel[name]) for name, own in _POOL.items()}
        ours: dict[str, Command] = {
            "add_consumer": _add_consumer,
            "cancel_consumer": _cancel_consumer,
            "shutdown": _shutdown,
            **pool,
        }
        self.update({name: _guarded(name, command) for name, command in ours.items()})

    def __missing__(self, name: str) -> Command:
        return _guarded(str(name), _refusing("there is no such command"))


class CommandsStep(Control):  # type: ignore[misc]  # Celery ships no types
    """Celery's step that listens to commands, with ours."""

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self.box.node.handlers = RemoteCommands(self.box.node.handlers)


def _guarded(name: str, command: Command) -> Command:
    """The command, of which nothing that it raises reaches the worker's loop."""

    def run(state: Any, **arguments: Any) -> Reply:
        try:
            return command(state, **arguments)
        except Exception as error:  # noqa: BLE001 - whatever a stranger sends, the reply and the log say it
            why = str(error) if isinstance(error, TurnwiseError) else f"{type(error).__name__}: {error}"
            logger.warning("The command %s is refused: %s", name[:80], redact(why), extra={"action": "command_refused"})
            return {"error": f"{name[:80]}: {redact(why)}"}

    return run


def _refusing(why: str) -> Command:
    def refuse(_state: Any, **_arguments: Any) -> Reply:
        raise ConflictError(why)

    return refuse


def _over(own: Callable[..., dict[str, int]], celerys: Command) -> Command:
    """Celery's command, with the arguments that ours has checked."""

    def run(state: Any, **arguments: Any) -> Reply:
        return celerys(state, **own(state, **arguments))

    return run


def _add_consumer(state: Any, queue: object, **_: Any) -> Reply:
    """Give back a queue that was cancelled; which queues a worker serves is said when it is started."""
    switches, name = switches_of(state.app), _queue_name(queue)
    if name not in switches.served:
        raise InvalidRequestError(
            f"this process serves no queue {name!r}, but {', '.join(switches.served)}; start a worker for it with -Q"
        )
    switches.resume(name)
    state.consumer.call_soon(state.consumer.add_task_queue, switches.served[name])
    logger.warning("The queue %s is served again", name, extra={"action": "queue_resumed", "queue": name})
    return {"ok": f"add consumer {name}"}


def _cancel_consumer(state: Any, queue: object, **_: Any) -> Reply:
    """Stop claiming from the queue; this process finishes the asks that it holds."""
    switches, name = switches_of(state.app), _queue_name(queue)
    if name not in switches.served:
        return {"ok": f"nothing to do: this process does not consume from {name!r}"}
    switches.pause(name)
    state.consumer.call_soon(state.consumer.cancel_task_queue, switches.served[name])
    logger.warning(
        "The queue %s is paused in this process until add_consumer, or a restart",
        name,
        extra={"action": "queue_paused", "queue": name},
    )
    return {"ok": f"no longer consuming from {name}"}


def _shutdown(_state: Any, **_: Any) -> Reply:
    """End as at SIGTERM, so that what is being worked on has the time that it has then."""
    logger.warning("This process is told to end by remote control", extra={"action": "shutdown"})
    os.kill(os.getpid(), signal.SIGTERM)
    return {"ok": "shutting down"}


def _grow(state: Any, n: object = 1, **_: Any) -> dict[str, int]:
    _expect_prefork(state)
    return {"n": _number(n, "n", most=_MOST_AT_ONCE)}


def _shrink(state: Any, n: object = 1, **_: Any) -> dict[str, int]:
    _expect_prefork(state)
    return {"n": _number(n, "n", most=state.consumer.pool.num_processes - 1)}


def _autoscale(state: Any, max: object = None, min: object = None, **_: Any) -> dict[str, int]:
    scaler = state.consumer.controller.autoscaler
    if not scaler:
        raise ConflictError("this worker was started without --autoscale")
    now_most, now_least = scaler.max_concurrency, scaler.min_concurrency
    bound = now_most if now_most > _MOST_AT_ONCE else _MOST_AT_ONCE
    most = _number(now_most if max is None else max, "max", most=bound)
    return {"max": most, "min": _number(now_least if min is None else min, "min", most=most)}


_POOL: dict[str, Callable[..., dict[str, int]]] = {
    "pool_grow": _grow,
    "pool_shrink": _shrink,
    "autoscale": _autoscale,
}


def _expect_prefork(state: Any) -> None:
    if not type(state.consumer.pool).__module__.endswith("prefork"):
        raise ConflictError("only the children of --pool prefork can be more or fewer; start more workers, or end some")


def _number(given: object, name: str, *, most: int) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= most:
        raise InvalidRequestError(f"{name} is {given!r}; expected a number from 1 to {most}")
    return given


def _queue_name(given: object) -> str:
    if not isinstance(given, str) or not given:
        raise InvalidRequestError(f"{given!r} is not the name of a queue")
    return queue_of_lane(given)[:80]
