"""Tries of a served run: counted on record, and waited for by nobody."""

from __future__ import annotations

from turnwise.agents.handler_calls import Interruption
from turnwise.agents.tries import Failure, Tries
from turnwise.errors import TurnwiseError
from turnwise.retrying import ErrorKind
from turnwise.runs.outcomes import Deferral
from turnwise.runs.records import AskRecord
from turnwise.serving.ending import error_record


class TryLater(Interruption):
    """The answer is put off: what failed is tried again when it is due, by whoever claims the ask then.

    `failed` counts the failed tries by call and kind, this one included.
    """

    def __init__(self, seconds: float, failure: Failure, failed: dict[str, int]) -> None:
        super().__init__(f"{failure.kind.value}: {failure.error}")
        self.seconds = seconds
        self.failure = failure
        self.failed = failed


class ServedTries(Tries):
    """The tries of one claimed ask, which `agent` (its id) answers.

    What the agent's own model or handler failed at puts the ask off. What fails in a handler's own doing (another
    agent's model, a task that it runs) is tried again in its place, because the handler would have to begin again.
    """

    def __init__(self, ask: AskRecord, agent: str) -> None:
        self._ask, self._agent = ask, agent
        self._on_record: dict[str, int] = dict(ask.failures or {})

    def next(self, failure: Failure, before: dict[ErrorKind, int]) -> float | None:
        """None if there is no next try; raises `TryLater`."""
        of_handler, asked_handler = bool(failure.call), self._ask.responder == "agent"
        if failure.agent != self._agent or of_handler != asked_handler:
            return super().next(failure, before)
        failed = self._on_record.get(failure.key, 0) + 1
        # Another for every ask, and the same for every process: that is as good as chance.
        seconds = failure.wait(failed, f"{self._ask.id}.{failure.key}.{failed}")
        if seconds is None:
            return None
        raise TryLater(seconds, failure, self._on_record | {failure.key: failed})


def deferral(later: TryLater, ask: AskRecord, place: str, model: str | None) -> Deferral:
    """The ask put off until the next try; `model` is the one that was asked, if it was one."""
    failure = later.failure
    error = error_record(failure.error, place=place, tool=failure.call.partition("#")[0] or None)
    if isinstance(failure.error, TurnwiseError):
        error["code"] = failure.error.code
    error |= {"kind": failure.kind.value} | ({"model": model} if model else {})
    attempt = later.failed[failure.key]
    waiting_for = {
        "kind": "retry",
        "agent": ask.agent.rsplit("/", 1)[-1],
        "error": {name: error[name] for name in ("type", "code", "message") if name in error},
        "attempt": attempt,
    }
    data = {"error": error, "attempt": attempt, "wait": round(later.seconds, 3)}
    return Deferral(seconds=later.seconds, waiting_for=waiting_for, data=data, failures=later.failed)
