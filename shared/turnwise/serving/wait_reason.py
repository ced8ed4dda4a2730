"""The reason why a run waits: for each situation one true sentence, and a cause that a program can read.

kind        what has to happen
move        a coordinator has to make the run's next move (`reason` says what came last)
session     an earlier run of its session has to end
llm, agent  a worker has to take the ask up, or is at it (`state`: queued, claimed, lapsed)
human       a human has to answer a question
retry       the time after an error has to pass
outage      a provider that does not answer has to be back (`model`, `server`, `error` of the last call)
provider    a provider's limit has to allow the call
provider_batch  a batch of the provider has to answer (`model`, `submitted_at`, `tries`, `last_error`)
budget      a budget has to grow or begin anew
parked      a person has to say what became of a call
version     a process of the run's application version has to be started
paused      a pause of its queue, task or tenant has to end (`scope`, `name`, `reason`)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from turnwise.base.json_value import Json, JsonValue
from turnwise.base.text import first_line
from turnwise.base.times import when
from turnwise.base.waits import (
    BudgetWait,
    OutageWait,
    ParkedWait,
    PauseWait,
    ProviderBatchWait,
    ProviderLimitWait,
    RetryWait,
    SessionWait,
    UpgradeWait,
)
from turnwise.record.asks.pauses import PauseRecord
from turnwise.record.runs.wait_facts import COORDINATOR, Situation
from turnwise.record.states import AskStatus, RunStatus
from turnwise.record.values.records import AskRecord

# Seconds after which a move that no one makes is worth a remark: sweeps find one after two.
_SOON = 10.0
_short = partial(first_line, width=300)


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitCause(JsonValue):
    """A cause: its `kind` and the `facts` that belong to it, `since` when (seconds since the epoch), and a `sentence`.

    The kinds are in the table above; a newer version may have written another.
    """

    kind: str
    facts: Json
    since: float | None
    sentence: str

    def as_json(self) -> Json:
        """The cause as the API shows it, but for its times, which are seconds here."""
        return {"kind": self.kind, **self.facts, "since": self.since, "sentence": self.sentence}


def why_waiting(now: Situation) -> WaitCause | None:
    """Return the cause of an unfinished run's waiting; None once it has ended.

    It begins with what the run itself has on record (`waiting_for`), and corrects what has changed since.
    """
    run = now.run
    if run.ended:
        return None
    if run.cancel_requested_at is not None:
        return _move(now, "cancelled", run.cancel_requested_at, "somebody asked for its end")
    if run.deadline_at is not None and run.deadline_at <= now.now:
        return _move(now, "deadline", run.deadline_at, "its deadline has passed")
    if run.started_at is None and now.ask is None:
        return _not_begun(now)
    if isinstance(run.waiting_for, UpgradeWait):
        return _held_for_newer(run.waiting_for)
    if now.ask is None or run.move_due_at is not None:
        return _move(now, "answered", _last_change(now), "its last question has been answered")
    return _asked(now, now.ask)


def _not_begun(now: Situation) -> WaitCause:
    run = now.run
    if now.before is None and now.pause is not None:
        return _paused(now.pause)
    if now.before is not None:
        sentence = f"The run {now.before}, which is before it in its session, has to end first"
        return _cause("session", sentence, run.created_at, run=now.before)
    if isinstance(run.waiting_for, SessionWait):
        return _move(now, "turn", run.created_at, "the run before it in its session has ended")
    if isinstance(run.waiting_for, PauseWait):
        return _move(now, "resumed", None, "its pause has ended")
    return _move(now, "accepted", run.created_at, "it was accepted")


def _paused(pause: PauseRecord) -> WaitCause:
    why = f" ({_short(pause.reason)})" if pause.reason else ""
    sentence = (
        f"The {pause.kind} {pause.name} is paused since {_time(pause.since)}{why}; an operator ends that with "
        f"turnwise resume {pause.kind} {pause.name}"
    )
    return _cause("paused", sentence, pause.since, scope=pause.kind, name=pause.name, reason=pause.reason)


def _asked(now: Situation, ask: AskRecord) -> WaitCause:
    wait = now.run.waiting_for
    if ask.status == AskStatus.OPEN:
        sentence = f"A human has to answer the question of the task {ask.path}: turnwise answer {now.run.id} TEXT"
        return _cause("human", sentence, ask.created_at, question=ask.id, task=ask.path)
    if ask.status == AskStatus.LEASED:
        return _claimed(now, ask)
    if ask.status == AskStatus.PARKED and isinstance(wait, ParkedWait):
        return _parked(ask, wait)
    if ask.status != AskStatus.RUNNABLE:
        return _move(now, "answered", ask.closed_at, "its last question has been answered")
    if now.pause is not None:
        return _paused(now.pause)
    if _is_deferred(now, ask):
        return _deferred(now, ask)
    return _queued(now, ask)


def _is_deferred(now: Situation, ask: AskRecord) -> bool:
    if ask.due_at is not None:
        return ask.due_at > now.now
    # It stands in a provider's line: its time is when there is a place.
    return now.run.status == RunStatus.WAITING and ask.bucket is not None


def _queued(now: Situation, ask: AskRecord) -> WaitCause:
    since = ask.due_at or ask.created_at
    facts = _of_ask(ask) | {"state": "queued", "ahead": now.ahead}
    if now.fleet is None:
        return _cause(ask.responder, f"{_subject(ask)} waits for a worker", since, **facts)
    if not _serving(now, ask.queue):
        if any(ask.queue in one.queues for one in now.others):
            return _other_version(now, f"no living worker of the queue {ask.queue} has it", since)
        missing = f"no living worker serves the queue {ask.queue}: start `turnwise worker -Q {ask.queue}`"
        return _cause(ask.responder, f"{_subject(ask)} waits, but {missing}", since, **facts, workers=0)
    place = "" if now.ahead is None else f"; {now.ahead or 'no'} older or more urgent ones are in it"
    again = f" (attempt {ask.attempts + 1} of {ask.max_attempts})" if ask.attempts else ""
    sentence = f"{_subject(ask)} waits in the queue {ask.queue} for a worker since {_time(since)}{again}{place}"
    return _cause(ask.responder, sentence, since, **facts, workers=_serving(now, ask.queue))


def _claimed(now: Situation, ask: AskRecord) -> WaitCause:
    holder = now.holder
    who = f"worker {holder.pid} on {holder.host}" if holder is not None else "a worker"
    attempt = f"attempt {ask.attempts} of {ask.max_attempts}"
    known = {"id": holder.id, "host": holder.host, "pid": holder.pid} if holder is not None else None
    facts = _of_ask(ask) | {"attempt": ask.attempts, "worker": known}
    if holder is not None and holder.state == "alive" and holder.lease_until > now.now:
        busy = "is asking the model" if ask.responder == "llm" else "is running the tool handlers"
        sentence = f"{_big(who)} {busy} of {ask.agent_name} since {_time(ask.claimed_at)} ({attempt})"
        return _cause(ask.responder, sentence, ask.claimed_at, **facts, state="claimed")
    after = "no coordinator is running that would" if not _coordinators(now) else "a sweep will"
    sentence = f"{_big(who)} took the ask of {ask.agent_name} and fell silent ({attempt}); {after} give it to another"
    since = holder.beat_at if holder is not None else ask.claimed_at
    return _cause(ask.responder, sentence, since, **facts, state="lapsed")


def _deferred(now: Situation, ask: AskRecord) -> WaitCause:
    match now.run.waiting_for:
        case RetryWait() as wait:
            return _as_kept(now, ask, _retry(ask, wait))
        case OutageWait() as wait:
            return _as_kept(now, ask, _outage(ask, wait))
        case ProviderLimitWait() as wait:
            return _as_kept(now, ask, _provider(now, ask, wait))
        case ProviderBatchWait() as wait:
            return _provider_batch(now, ask, wait)
        case BudgetWait() as wait:
            return _as_kept(now, ask, _budget(ask, wait))
    return _as_kept(now, ask, f"{_subject(ask)} is deferred until {_time(ask.due_at)}", kind=ask.responder)


def _retry(ask: AskRecord, wait: RetryWait) -> str:
    error = wait.error or {}
    what = ": ".join(str(error[name]) for name in ("type", "message") if error.get(name)) or "an error"
    attempt = wait.attempt or ask.attempts
    return f"{_subject(ask)} is tried again at {_time(ask.due_at)}, after attempt {attempt}: {_short(what)}"


def _outage(ask: AskRecord, wait: OutageWait) -> str:
    message = (wait.error or {}).get("message")
    where, told = f" at {wait.server}" if wait.server else "", f" ({_short(str(message))})" if message else ""
    # In the line of the provider one call at a time probes, and its answer lets all continue.
    look = f"tries again at {_time(ask.due_at)}" if ask.due_at else "goes on as soon as a call of any run is answered"
    provider = f"The provider of {wait.model or 'its model'}{where}"
    return f"{provider} does not answer{told}; {ask.agent_name} {look}, until the run's deadline"


def _provider(now: Situation, ask: AskRecord, wait: ProviderLimitWait) -> str:
    limit = {"requests": "requests per minute", "tokens": "tokens per minute", "concurrency": "calls at a time"}
    what, due_at = limit.get(wait.limit or "", "calls"), ask.due_at or wait.due_at
    then = f"goes on at {_time(due_at)}" if due_at and due_at > now.now else "is next in line, or soon"
    return f"The provider's limit on {what} of {wait.model or 'its model'} is used up; {ask.agent_name} {then}"


def _provider_batch(now: Situation, ask: AskRecord, wait: ProviderBatchWait) -> WaitCause:
    call = now.collected
    submitted = call.submitted_at if call is not None else None
    after = f", after {call.tries} that did not answer it ({_short(call.error or '')})" if call and call.tries else ""
    state = f"submitted at {_time(submitted)}" if submitted is not None else "for which calls are still collected"
    sentence = (
        f"The call of {wait.model} for {ask.agent_name} waits for a batch of its provider, {state}{after}; at most "
        f"until {_time(ask.due_at)}, when the model is called directly"
    )
    facts: Json = {"submitted_at": submitted, "tries": 0, "last_error": None}
    if call is not None:
        facts |= {"tries": call.tries, "last_error": call.error, "since": call.collected_at}
    return _as_kept(now, ask, sentence, **facts)


def _budget(ask: AskRecord, wait: BudgetWait) -> str:
    of = {"run": "the run", "batch": "its batch", "session": "its session", "tenant_day": "its tenant today"}
    limit = f"the limit on {wait.limit or 'spending'} of {of.get(wait.scope, 'its tenant this month')}"
    # Reached, or held for calls that are under way: what those do not use is free again.
    return (
        f"Too little is left of {limit} for the next call of {ask.agent_name}, which looks again at {_time(ask.due_at)}"
    )


def _parked(ask: AskRecord, wait: ParkedWait) -> WaitCause:
    what = f"A call of the tool {wait.tool} by {ask.agent_name}" if wait.tool else f"The ask of {ask.agent_name}"
    reason = _short(wait.reason or "no one knows what became of it")
    sentence = f"{what} is parked ({reason}): a person has to say how to go on, turnwise resolve {ask.id}"
    facts = {"ask": ask.id, "agent": ask.agent_name, "tool": wait.tool, "reason": wait.reason}
    return _cause("parked", sentence, ask.parked_at, **facts)


def _move(now: Situation, reason: str, since: float | None, what: str) -> WaitCause:
    if now.fleet is None:
        return _cause("move", f"{_big(what)} at {_time(since)}; a coordinator has to go on", since, reason=reason)
    coordinators = _coordinators(now)
    facts: dict[str, Any] = {"reason": reason, "coordinators": coordinators}
    begun = f"{_big(what)} at {_time(since)}"
    if not coordinators:
        if any(one.kind == COORDINATOR for one in now.others):
            return _other_version(now, "no living coordinator has it", since)
        sentence = f"{begun}, but no coordinator is running that could go on: start `turnwise coordinator`"
        return _cause("move", sentence, since, **facts)
    late = since is not None and now.now - since > _SOON
    then = "none of the coordinators has gone on yet: look at their logs" if late else "a coordinator goes on with it"
    return _cause("move", f"{begun}; {then}", since, **facts)


def _other_version(now: Situation, what: str, since: float | None) -> WaitCause:
    version = now.run.version
    sentence = f"It is pinned to version {version} of the application, and {what}: start processes of that version"
    return _cause("version", sentence, since, version=version)


def _held_for_newer(wait: UpgradeWait) -> WaitCause:
    sentence = (
        f"A newer Turnwise has moved it (its state has version {wait.state}, the process that looked last reads "
        f"versions up to {wait.known}): start processes of the newer one, or finish the upgrade"
    )
    return _cause(wait.kind, sentence, None, state=wait.state, known=wait.known)


def _as_kept(now: Situation, ask: AskRecord, sentence: str, **changes: Any) -> WaitCause:
    wait = now.run.waiting_for
    kept = {"agent": ask.agent_name, **(wait.as_json() if wait is not None else {})} | changes
    kept["due_at"] = ask.due_at or kept.get("due_at")
    kind = kept.pop("kind")
    return _cause(kind, sentence, kept.pop("since", None), **kept)


def _cause(kind: str, sentence: str, since: float | None, **facts: Any) -> WaitCause:
    return WaitCause(kind=kind, facts=facts, since=since, sentence=f"{sentence}.")


def _of_ask(ask: AskRecord) -> Json:
    return {"agent": ask.agent_name, "queue": ask.queue}


def _serving(now: Situation, queue: str | None) -> int:
    return sum(queue in one.queues for one in now.fleet or ())


def _coordinators(now: Situation) -> int:
    """Return how many live; one that sweeps may be of a program that does not sign on."""
    found = sum(one.kind == COORDINATOR for one in now.fleet or ())
    return found or int(now.sweeping and not now.others)


def _last_change(now: Situation) -> float | None:
    return now.run.move_due_at or now.run.started_at


def _subject(ask: AskRecord) -> str:
    return (
        f"The question to the model of {ask.agent_name}"
        if ask.responder == "llm"
        else f"The ask of {ask.agent_name}'s tools"
    )


def _big(text: str) -> str:
    return text[:1].upper() + text[1:]


def _time(at: float | None) -> str:
    return "some time" if at is None else f"{when(at):%Y-%m-%d %H:%M:%S} UTC"
