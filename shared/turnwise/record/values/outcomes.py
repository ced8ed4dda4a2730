"""The outcome of a claimed ask that a worker hands to the record, as frozen values.

There is an answer (`Reply`), or the ask is deferred, released or parked; and what was used on the way. `work` are the
times of the attempt (where it was made, its `parts`), which the event of the outcome keeps for the run's timeline.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from turnwise.base.waits import DeferralWait
from turnwise.models.limits.provider import ProviderWait
from turnwise.record.values.kept_errors import RunError
from turnwise.record.values.records import Json, NewDocument, NewHistory, Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class CallUsage:
    """The use of one call of a claim, or of several without a reservation (`call_no` is None).

    `lost`: no one knows, so it is what was reserved. `collected`: a batch of the provider answered it, for which an
    earlier claim of the ask has reserved; it counts once, whoever uses the answer.
    """

    usage: Usage
    call_no: int | None = None
    lost: bool = False
    collected: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """A responder's outcome.

    The history is first cut to `keep_history` rows (None: not at all; 0: cleared), then `history` is appended.
    `record` and `state` replace the agent's unless None. `tools` are those whose handlers were called, `version` is
    that of the application, if the run began with another. Of a `refused` call, which was not made, its error says
    which limit it would have gone over. `calls` are the model calls that `usage` is the sum of; where they are given,
    they are what is counted. One that `forfeits` has no usage that can be kept: what was reserved for its calls counts.
    `traceparent` is the answering's. `in_doubt`: a handler that may not be called twice has returned, and nothing but
    this reply tells its result. If it is an error, or one is written in its place, no one knows that result.
    """

    kind: Literal["answer", "nothing", "refused", "error"]
    document: NewDocument | None = None
    error: RunError | None = None
    keep_history: int | None = None
    history: tuple[NewHistory, ...] = ()
    record: Json | None = None
    state: Json | None = None
    usage: Usage | None = None
    calls: tuple[CallUsage, ...] = ()
    tools: tuple[str, ...] = ()
    version: str | None = None
    forfeits: bool = False
    work: Json | None = None
    traceparent: str | None = None
    in_doubt: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderDown:
    """A deferred ask's provider did not answer.

    `wait` gives the seconds for which no one probes whether it is back, after so many probes that failed. `probed`: the
    call that failed was a probe. `lasted`: seconds that the call took. `answered`: seconds since the process that
    made it saw the provider answer a call, None if it never did.
    """

    wait: Callable[[int], float]
    probed: bool = False
    lasted: float = 0.0
    answered: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedCall:
    """A call that failed and is made again: its error, how many have failed so by now, and the `wait` in seconds."""

    error: RunError
    attempt: int
    wait: float

    def as_json(self) -> Json:
        """The call as the event of the deferral tells it."""
        return {"error": self.error.as_json(), "attempt": self.attempt, "wait": self.wait}


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectedRequest:
    """A model's call that waits for a batch of its `provider` (a bucket), with the `body` that it is to be sent.

    From `until` on it is made directly. `call_no` is the call of the claim that room was reserved for, if it was.
    """

    provider: str
    model: str
    body: Json
    until: float
    call_no: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Deferral:
    """A responder's ask is deferred: no one holds it for `seconds`, then anyone may claim it again.

    `waiting_for` says what the run waits for meanwhile; `due_at` is added. `failed` is the call that came to this, if
    it is one. `counts`: the attempt that came to this counts as one of the ask's attempts.
    With `provider` it may be claimed as soon as that has room; `seconds` is when that may be, for those who look. With
    `down`, too, the provider did not answer; then `seconds` hold if it is not known to be away for others.
    `failures` replace those of the ask, None leaves them. With `collect` its model's call is collected for a batch, and
    what was reserved for it stays reserved.
    """

    seconds: float
    waiting_for: DeferralWait
    usage: Usage | None = None
    calls: tuple[CallUsage, ...] = ()
    failed: FailedCall | None = None
    work: Json | None = None
    counts: bool = False
    provider: ProviderWait | None = None
    down: ProviderDown | None = None
    failures: Json | None = None
    collect: CollectedRequest | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """A responder's work was cancelled, for a `reason` (`killed`, `deadline`, `lost`): its ask is released.

    Whoever makes the run's next move, or holds the ask by now, decides what becomes of it. `in_doubt`: a handler was
    cancelled that may not be called twice. `pause`: seconds in which no one may claim it.
    """

    reason: str
    usage: Usage | None = None
    calls: tuple[CallUsage, ...] = ()
    work: Json | None = None
    in_doubt: bool = False
    pause: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """A handler's call within an ask, numbered from 1: `begun`, or `done` with its result.

    `arguments` is the tool as JSON. `result["value"]` is what the handler returned, `result["text"]` that as text where
    the two differ. `state` and `record` are what the calls up to this one have changed of the agent: the application's
    state, and what the framework keeps of it.
    """

    call_no: int
    tool: str
    status: Literal["begun", "done"]
    key: str
    effect: str
    arguments: Json | None = None
    result: Json | None = None
    state: Json | None = None
    record: Json | None = None
    begun_at: float | None = None
    worker_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Parking:
    """A responder's ask is to wait for a person.

    `call` is the handler's call of which no one knows the outcome, `worker` who made it, if not an earlier holder.
    """

    reason: Literal["unknown_outcome", "attempts_exhausted"]
    call: Receipt | None = None
    worker: str | None = None
    error: RunError | None = None
    usage: Usage | None = None
    calls: tuple[CallUsage, ...] = ()
    work: Json | None = None


Outcome = Reply | Deferral | Release | Parking


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolution:
    """A person's decision on a parked ask.

    The call has `happened` with that result (as in a `Receipt`, None for nothing), is to be made `again`, or the run is
    to `fail`. `traceparent` is of the request that says so.
    """

    outcome: Literal["happened", "again", "fail"]
    result: Json | None = None
    traceparent: str | None = None
