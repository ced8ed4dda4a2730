"""A call of a tool: it begins or finds a run, tells its progress, asks its questions, and ends with how it stands."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, Protocol, cast

import anyio
import anyio.lowlevel

from turnwise.api.events import EventView, StreamItem
from turnwise.api.inbox import QuestionView
from turnwise.api.runs import RunView
from turnwise.client import AsyncClient
from turnwise.errors import ConflictError
from turnwise.mcp_server.arguments import AnswerArguments, ResultArguments, TaskArguments
from turnwise.mcp_server.outcome import CallOutcome, OpenQuestion, outcome_of

# For the word that a run is to end: whoever cancelled the call does not wait for it.
_CANCEL_SECONDS = 10.0


class ToolCaller(Protocol):
    """The other side of a call, which sees the progress and may be asked."""

    async def progress(self, turns: int, message: str) -> None:
        """Tell that so many turns were taken."""

    async def ask(self, question: OpenQuestion) -> str | None:
        """Return the human's answer; None if the human is not asked, or does not answer."""


class Call:
    """One call; `lasting` says whether its run continues if the call is cancelled, as it is when the server stops."""

    def __init__(self, client: AsyncClient, caller: ToolCaller, lasting: Callable[[], bool]) -> None:
        self._client = client
        self._caller = caller
        self._lasting = lasting
        self._turns = 0
        self._asked: OpenQuestion | None = None
        # Questions that were answered here: the run may wait a moment longer for each.
        self._told: set[str] = set()

    async def begin(self, task: str, given: TaskArguments) -> CallOutcome:
        """Submit a run, and follow it."""
        # Not cancelled before its id is known, or no one would end it.
        with anyio.CancelScope(shield=True):
            run = await self._client.submit(
                task,
                given.message,
                session_id=given.session_id,
                max_cost=given.max_cost,
                max_tokens=given.max_tokens,
                turns=given.turns,
                deadline=given.deadline,
            )
        return await self._followed(run, given.wait)

    async def answer(self, given: AnswerArguments) -> CallOutcome:
        """Answer a run's question, and follow it."""
        with anyio.CancelScope(shield=True):
            run = await self._client.answer(given.run_id, given.text, question=given.question)
        return await self._followed(run, given.wait)

    async def result(self, given: ResultArguments) -> CallOutcome:
        """Follow a run that was begun earlier; it continues when this call is cancelled."""
        return await self._follow(await self._client.run(given.run_id), given.wait)

    async def resume(self, run_id: str, question: str, text: str | None, wait: float | None) -> CallOutcome:
        """Follow a run again whose question the human was asked; `text` is the answer, if there is one."""
        if text is None:
            return await self._standing(run_id)
        self._told.add(question)
        return await self._followed(await self._tell(run_id, question, text), wait)

    async def _followed(self, run: RunView, wait: float | None) -> CallOutcome:
        async with self._cancelled_with(run.id):
            return await self._follow(run, wait)

    @asynccontextmanager
    async def _cancelled_with(self, run_id: str) -> AsyncIterator[None]:
        try:
            await anyio.lowlevel.checkpoint()
            yield
        except anyio.get_cancelled_exc_class():
            if not self._lasting():
                with anyio.move_on_after(_CANCEL_SECONDS, shield=True):
                    await self._cancel(run_id)
            raise

    async def _cancel(self, run_id: str) -> None:
        with suppress(ConflictError):  # it has ended
            await self._client.cancel(run_id)

    async def _follow(self, run: RunView, wait: float | None) -> CallOutcome:
        with anyio.move_on_after(wait):
            while run.finished_at is None:
                if (question := await self._open_question(run)) is not None:
                    text = await self._caller.ask(question)
                    if text is None:
                        return outcome_of(run, question)
                    self._told.add(question.id)
                    run = await self._tell(run.id, question.id, text)
                elif _is_parked(run):
                    break
                else:
                    run = await self._next_stop(run)
            return outcome_of(run)
        return await self._standing(run.id)

    async def _next_stop(self, run: RunView) -> RunView:
        """Return the run when it has ended, or a person has to do something about it."""
        async with aclosing(self._events(run.id, after=run.last_event)) as events:
            async for event in events:
                if event.type == "turn.taken":
                    self._turns += 1
                    await self._caller.progress(self._turns, _progress(event))
                elif event.type == "human.asked":
                    self._asked = OpenQuestion(id=event.ask or "", text=_text_of(event))
                    break
                elif event.type == "ask.parked":
                    break
        return await self._client.run(run.id)

    async def _tell(self, run_id: str, question: str, text: str) -> RunView:
        try:
            return await self._client.answer(run_id, text, question=question)
        except ConflictError:  # someone was faster, or the run has ended
            return await self._client.run(run_id)

    async def _standing(self, run_id: str) -> CallOutcome:
        run = await self._client.run(run_id)
        return outcome_of(run, await self._open_question(run))

    async def _open_question(self, run: RunView) -> OpenQuestion | None:
        """Return what the run asks a human; None if it asks nothing, or nothing that was not answered here."""
        waiting = None if run.finished_at is not None else run.waiting_for
        if waiting is None or waiting["kind"] != "human" or waiting["question"] in self._told:
            return None
        wanted = waiting["question"]
        if self._asked is not None and self._asked.id == wanted:
            return self._asked
        for item in await self._client.inbox():
            if isinstance(item, QuestionView) and item.id == wanted:
                return OpenQuestion(id=wanted, text=item.text)
        # The inbox lists only the oldest.
        async with aclosing(self._events(run.id)) as events:
            async for event in events:
                if event.type == "human.asked" and event.ask == wanted:
                    return OpenQuestion(id=wanted, text=_text_of(event))
        return None

    async def _events(self, run_id: str, after: int = 0) -> AsyncGenerator[EventView]:
        events = cast("AsyncGenerator[StreamItem]", self._client.events(run_id, after=after))
        async with aclosing(events):
            async for event in events:
                if isinstance(event, EventView):
                    yield event


def _is_parked(run: RunView) -> bool:
    return run.status == "waiting" and run.waiting_for is not None and run.waiting_for["kind"] == "parked"


def _text_of(event: EventView) -> str:
    document: dict[str, Any] = (event.data or {}).get("document") or {}
    return str(document.get("content", ""))


def _progress(event: EventView) -> str:
    responder = (event.data or {}).get("responder") or "someone"
    return f"{event.task}: {responder} answered"
