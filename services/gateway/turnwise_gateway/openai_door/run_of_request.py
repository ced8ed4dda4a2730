"""The run of a request: one that waits for this message, or a new one."""

from __future__ import annotations

import re
import time
from dataclasses import replace

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, NotFoundError
from turnwise.messages.given_history import GivenMessage, history_of, with_history
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.runs.records import NewRun, RunRecord
from turnwise.record.states import RunStatus
from turnwise_gateway.gateway import Gateway
from turnwise_gateway.http.idempotency import REPEATED, is_repeated
from turnwise_gateway.http.request_metrics import ARRIVED
from turnwise_gateway.openai_door.conversation import GivenConversation
from turnwise_gateway.openai_door.followed_run import FollowedRun, TokenSum
from turnwise_gateway.openai_door.run_options import RunOptions
from turnwise_gateway.openai_door.shown_text import ShownText
from turnwise_gateway.openai_door.waiting_run import exchange, waiting_in_conversation, waiting_in_session
from turnwise_gateway.routes.answers import take_answer
from turnwise_gateway.routes.runs import new_run, submit_with_move, submit_without_move

_ID = re.compile(r"(?:resp|chatcmpl)_([A-Za-z0-9_]{1,60})_\d{1,10}")


def answer_id(kind: str, followed: FollowedRun) -> str:
    """The id of an answer: it names the run, and the event after which the run worked on it."""
    return f"{kind}_{followed.run.id.removeprefix('run_')}_{followed.after}"


def run_named(record: TenantRole, answer: str) -> RunRecord:
    """The run that gave the answer of that id; raises `NotFoundError`."""
    found = _ID.fullmatch(answer)
    try:
        return record.run(f"run_{found[1]}" if found else "")
    except NotFoundError as error:
        raise NotFoundError(
            f"there is no response {answer[:200]!r}; send the id of one that this server has given"
        ) from error


def conversation_after(record: TenantRole, run: RunRecord) -> tuple[GivenMessage, ...]:
    """The conversation as a run that has ended leaves it: a run without a result leaves it as it was before."""
    before = history_of(run.message)
    if run.status != RunStatus.COMPLETED:
        return before
    said = [GivenMessage("user", run.message.get("content", ""))]
    for event in exchange(record, run.id):
        role = "assistant" if event.type == "human.asked" else "user"
        said.append(GivenMessage(role, (event.document or {}).get("content", "")))
    said.append(GivenMessage("assistant", (run.result or {}).get("content", "")))
    return (*before, *(message for message in said if message.content.strip()))


def waiting_for(gateway: Gateway, conversation: GivenConversation, options: RunOptions) -> RunRecord | None:
    """The run that waits for the message; see `waiting_run`."""
    task = options.submission.task
    if options.session_id is not None:
        return waiting_in_session(gateway.record, options.session_id, task)
    return waiting_in_conversation(gateway.record, conversation, task, options.user)


async def opened(
    gateway: Gateway,
    request: Request,
    conversation: GivenConversation,
    options: RunOptions,
    *,
    waiting: RunRecord | None,
    stream: bool,
    wait: float,
) -> FollowedRun:
    """The run that works on the request from now on: the `waiting` one, which is answered, or a new one.

    Raises what submitting and answering raise.
    """
    repeated, after, before = request.scope.get(REPEATED), 0, TokenSum(0, 0, 0)
    try:
        if repeated is not None:
            run = await run_in_threadpool(gateway.record.run, repeated)
        elif waiting is not None:
            run, after, before = waiting, waiting.last_seq, TokenSum.of(waiting)
            await run_in_threadpool(_answer, gateway, waiting, conversation.message)
        else:
            run = await _submitted(gateway, request, conversation, options, stream=stream)
    except ConflictError:
        if not await is_repeated(request):
            raise
        # The same request, sent at the same time, was a moment faster.
        repeated, after, before = request.scope[REPEATED], 0, TokenSum(0, 0, 0)
        run = await run_in_threadpool(gateway.record.run, repeated)
    return FollowedRun(
        gateway=gateway,
        request=request,
        run=run,
        after=after,
        used_before=before,
        cancels=options.cancels,
        wait=wait,
        shown=_shown(gateway, run),
        replayed=repeated is not None,
    )


def _answer(gateway: Gateway, run: RunRecord, text: str) -> None:
    take_answer(gateway, run.id, text, None)
    gateway.dispatcher.wake(run)


async def _submitted(
    gateway: Gateway, request: Request, conversation: GivenConversation, options: RunOptions, *, stream: bool
) -> RunRecord:
    new = _new(gateway, conversation, options)
    if stream:
        await gateway.watch.expect(new.id)
    accept = submit_without_move if stream else submit_with_move
    run = await run_in_threadpool(accept, gateway, new)
    gateway.observers.run_accepted(run, time.monotonic() - request.scope[ARRIVED])
    return run


def _new(gateway: Gateway, conversation: GivenConversation, options: RunOptions) -> NewRun:
    new = new_run(gateway, options.submission, new_id("run"))
    name = conversation.name(new.task, options.user)
    return replace(new, message=with_history(new.message, conversation.history, name))


def _shown(gateway: Gateway, run: RunRecord) -> ShownText:
    if run.version != gateway.app.version:  # of another version no more is known
        return ShownText()
    tree = gateway.app.tree(run.task)
    agent = tree.agents[tree.root.agent]
    return ShownText.of(tree.root, tools=agent.config.use_tools and bool(agent.toolbox.usable))
