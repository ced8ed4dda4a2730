"""Retries of a served run: counted on record, and waited for by no one."""

from __future__ import annotations

from dataclasses import replace

from turnwise.agents.retries import CallRetries, Failure
from turnwise.agents.tools.handler_calls import Interruption
from turnwise.base.waits import OutageWait, RetryWait
from turnwise.errors import TurnwiseError
from turnwise.models.limits.provider import ProviderWait
from turnwise.models.retry_policy import ErrorKind
from turnwise.record.values.outcomes import Deferral, FailedCall, ProviderDown
from turnwise.record.values.records import AskRecord
from turnwise.serving.moves.run_end import OUTAGE, error_record


class RetryLater(Interruption):
    """The answer is deferred: what failed is tried again when it is due, by whoever claims the ask then.

    `failed` counts the failed calls by call and kind, this one included.
    """

    def __init__(self, seconds: float, failure: Failure, failed: dict[str, int], *, outage: bool = False) -> None:
        super().__init__(f"{failure.kind.value}: {failure.error}")
        self.seconds = seconds
        self.failure = failure
        self.failed = failed
        self.outage = outage

    @property
    def attempt(self) -> int:
        """Return how many calls have failed like this one."""
        return self.failed[OUTAGE if self.outage else self.failure.key]


class ServedRetries(CallRetries):
    """The retries of one claimed ask, which `agent` (its id) answers; `on_outage`: wait or fail.

    A failure of the agent's own model or handler defers the ask. A failure within a handler (of another agent's
    model, of a task that it runs) is tried again in its place, because the handler would have to begin again.
    """

    def __init__(self, ask: AskRecord, agent: str, on_outage: str = "fail") -> None:
        self._ask, self._agent, self._on_outage = ask, agent, on_outage
        self._on_record: dict[str, int] = dict(ask.failures or {})

    def next(self, failure: Failure, before: dict[ErrorKind, int]) -> float | None:
        """None if there is no next call; raises `RetryLater`."""
        of_handler, asked_handler = bool(failure.call), self._ask.responder == "agent"
        if failure.agent != self._agent or of_handler != asked_handler:
            return super().next(failure, before)
        if failure.waits_out(self._on_outage):
            failed = self._on_record.get(OUTAGE, 0) + 1
            look_in = failure.outage_wait(failed, f"{self._ask.id}.{OUTAGE}.{failed}")
            raise RetryLater(look_in, failure, self._on_record | {OUTAGE: failed}, outage=True)
        failed = self._on_record.get(failure.key, 0) + 1
        # Another for every ask, and the same for every process: that is as good as chance.
        seconds = failure.wait(failed, f"{self._ask.id}.{failure.key}.{failed}")
        if seconds is None:
            return None
        raise RetryLater(seconds, failure, self._on_record | {failure.key: failed})


def deferral(
    later: RetryLater,
    ask: AskRecord,
    place: str,
    model: str | None,
    line: tuple[ProviderWait, ProviderDown] | None = None,
) -> Deferral:
    """The ask deferred until the next call; `model` is the one that was asked, if it was one.

    `line` is that of a provider that did not answer.
    """
    failure = later.failure
    error = error_record(failure.error, place=place, tool=failure.call.partition("#")[0] or None)
    if isinstance(failure.error, TurnwiseError):
        error = replace(error, code=failure.error.code)
    error = replace(error, kind=failure.kind.value, model=model or None)
    attempt = later.attempt
    agent = ask.agent_name
    shown = error.shown()
    provider, down = line or (None, None)
    waiting_for: RetryWait | OutageWait = RetryWait(agent=agent, error=shown, attempt=attempt)
    if later.outage:
        server = None if provider is None else provider.target.provider.server
        waiting_for = OutageWait(agent=agent, error=shown, attempt=attempt, model=model, server=server)
    return Deferral(
        seconds=later.seconds,
        waiting_for=waiting_for,
        failed=FailedCall(error=error, attempt=attempt, wait=round(later.seconds, 3)),
        failures=later.failed,
        provider=provider,
        down=down,
    )
