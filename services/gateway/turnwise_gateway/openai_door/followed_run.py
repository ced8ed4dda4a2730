"""A run as it answers one request: its text as it grows, and how the answer ends."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from typing import NamedTuple

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from turnwise.base.waits import HumanWait
from turnwise.errors import ConflictError, EnvironmentFault, TurnwiseError
from turnwise.record.states import RunStatus
from turnwise.record.tenants.caller import RUNS_READ, RUNS_WRITE
from turnwise.record.values.records import RunRecord
from turnwise_gateway.gateway import Gateway
from turnwise_gateway.openai_door.errors import DoorFault, fault_of
from turnwise_gateway.openai_door.exchange import first_question
from turnwise_gateway.openai_door.shown_text import ShownText
from turnwise_gateway.views import text_of_result

logger = logging.getLogger(__name__)

# How a task ended whose limit was reached.
_CUT = ("MAX_COST", "MAX_TOKENS")


class TokenSum(NamedTuple):
    """Tokens of a run's models."""

    prompt: int
    cached: int
    completion: int

    @classmethod
    def of(cls, run: RunRecord) -> TokenSum:
        """Return what the run has used so far."""
        return cls(run.prompt_tokens, run.cached_tokens, run.completion_tokens)

    def since(self, before: TokenSum) -> TokenSum:
        """Return what was used after `before`."""
        return TokenSum(*(now - then for now, then in zip(self, before, strict=True)))


@dataclass(frozen=True, kw_only=True, slots=True)
class DoorAnswer:
    """The end of an answer: a result or a question; `cut`: a limit of the run ended it."""

    text: str
    cut: bool
    usage: TokenSum


@dataclass(kw_only=True)
class FollowedRun:
    """A run from the moment at which the request gave it something to do.

    `run` is as it was then: `after` is the number of the last event before, and its usage is not the answer's. With
    `cancels` the run is cancelled if its client leaves. `outcome` is known once `pieces` has ended.
    """

    gateway: Gateway
    request: Request
    run: RunRecord
    after: int
    used_before: TokenSum
    cancels: bool
    wait: float
    shown: ShownText
    replayed: bool = False
    outcome: DoorAnswer | DoorFault | None = None

    async def pieces(self, *, text: bool) -> AsyncGenerator[str]:
        """The text as it grows; an empty piece now and then shows that someone is there."""
        try:
            async with aclosing(self._pieces(text=text)) as pieces:
                async for piece in pieces:
                    yield piece
        except (GeneratorExit, asyncio.CancelledError):
            self._leave()
            raise
        self._leave()

    async def _pieces(self, *, text: bool) -> AsyncGenerator[str]:
        watch = self.gateway.watch
        with ExitStack() as stack:
            watcher = stack.enter_context(watch.of(self.run.id, text=text, eager=text))
            admitted = stack.enter_context(self.gateway.admission.of(self.request, watcher, RUNS_READ, RUNS_WRITE))
            left = asyncio.create_task(self._left(watcher.changed))
            stack.callback(left.cancel)
            end = time.monotonic() + self.wait
            while not left.done():
                # The watcher was there before this look, so whatever it does not see will wake it.
                deltas = watcher.take_deltas()
                looks = watcher.must_look(watch.poll_seconds)
                found = await run_in_threadpool(self._looked) if looks else None
                for piece in filter(None, (self.shown.hear(notice) for notice in deltas)):
                    yield piece
                if found is not None:
                    self.outcome = found
                    if isinstance(found, DoorAnswer):
                        yield self.shown.finish(found.text)
                    return
                seconds = end - time.monotonic()
                self.outcome = self._interrupted(ended=admitted.ended, late=seconds <= 0)
                if self.outcome is not None:
                    return
                await watcher.wait(min(seconds, watch.poll_seconds))
                yield ""

    def _looked(self) -> DoorAnswer | DoorFault | None:
        """Look at the run; what failed to be read is looked at again, as long as the request waits."""
        try:
            return self._look()
        except EnvironmentFault as error:
            extra = {"action": "answer_not_read", "run": self.run.id}
            logger.warning("The answer of a run is looked for again: %s", error, extra=extra)
            return None

    def _look(self) -> DoorAnswer | DoorFault | None:
        record = self.gateway.record
        run = record.run(self.run.id)
        usage = TokenSum.of(run).since(self.used_before)
        # The id of the answer stands for the first question, also if that was answered from elsewhere meanwhile.
        asks = run.ended or isinstance(run.waiting_for, HumanWait)
        question = first_question(record, run.id, self.after) if asks else None
        if question is not None and (question.answered or not run.ended):
            return DoorAnswer(text=self.shown.without_signals(question.text), cut=False, usage=usage)
        if run.status == RunStatus.COMPLETED:
            return DoorAnswer(text=text_of_result(run), cut=run.status_code in _CUT, usage=usage)
        return _failed(run) if run.ended else None

    def _interrupted(self, *, ended: bool, late: bool) -> DoorFault | None:
        run_id = self.run.id
        if self.gateway.watch.stopping:
            return DoorFault(503, f"this server stops; the run {run_id} continues", "server_stops")
        if ended:
            return DoorFault(401, "the key or token was revoked, has expired, or has lost a scope", "unauthorized")
        if late:
            told = (
                f"the run {run_id} has not answered within {self.wait:g} s, and continues; look at it with GET /v1/runs"
            )
            return DoorFault(408, told, "still_running")
        return None

    async def _left(self, changed: asyncio.Event) -> None:
        """Return once the client has closed its connection."""
        while (await self.request.receive())["type"] != "http.disconnect":
            pass
        changed.set()

    def _leave(self) -> None:
        """See to a run whose client has left before the answer; called on the event loop, which may not wait here."""
        if self.outcome is None and self.cancels and not self.gateway.watch.stopping:
            asyncio.get_running_loop().run_in_executor(None, self._cancel)

    def _cancel(self) -> None:
        try:
            self.gateway.dispatcher.cancelled(self.gateway.record.request_cancel(self.run.id))
        except ConflictError:  # it has ended meanwhile
            return
        except TurnwiseError as error:
            extra = {"action": "left_run_not_cancelled", "run": self.run.id}
            logger.warning("The run %s, whose client left, was not cancelled: %s", self.run.id, error, extra=extra)


def _failed(run: RunRecord) -> DoorFault:
    if run.status == RunStatus.CANCELLED:
        return DoorFault(409, f"the run {run.id} was cancelled", "run_cancelled")
    found = {} if run.error is None else run.error.as_json()
    told = found.get("message") or f"it ended with {run.status_code}"
    return fault_of(run.id, str(told), str(run.status_code or "ERROR"))
