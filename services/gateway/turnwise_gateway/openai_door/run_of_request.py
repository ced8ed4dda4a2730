"""The run of a request: one that waits for this message, or a new one."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from turnwise.base.ids import new_id
from turnwise.messages.given_history import history_of, with_history
from turnwise.record.values.records import NewRun, RunRecord
from turnwise_gateway.gateway import Gateway
from turnwise_gateway.http.idempotency import REPEATED, run_of
from turnwise_gateway.http.request_metrics import ARRIVED
from turnwise_gateway.human_answers import take_answer
from turnwise_gateway.openai_door.conversation import GivenConversation
from turnwise_gateway.openai_door.exchange import questions
from turnwise_gateway.openai_door.followed_run import FollowedRun, TokenSum
from turnwise_gateway.openai_door.run_options import RunOptions
from turnwise_gateway.openai_door.shown_text import ShownText
from turnwise_gateway.openai_door.waiting_run import AnsweredRun, waiting_in_conversation, waiting_in_session
from turnwise_gateway.submission import new_run, submit_with_move, submit_without_move

_NOTHING = TokenSum(0, 0, 0)


class Begun(NamedTuple):
    """A run that works on a request, the number of the last event before, and what it had used by then."""

    run: RunRecord
    after: int
    used_before: TokenSum


def waiting_for(gateway: Gateway, conversation: GivenConversation, options: RunOptions) -> AnsweredRun | None:
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
    answers: AnsweredRun | None,
    stream: bool,
    wait: float,
) -> FollowedRun:
    """The run that works on the request from now on: the one that it `answers`, or a new one.

    Raises what submitting and answering raise.
    """
    replayed = REPEATED in request.scope or (answers is not None and answers.replays)
    if replayed:
        begun = await run_in_threadpool(_repeated, gateway, request, conversation, answers)
    elif answers is not None:
        begun = await run_in_threadpool(_answer, gateway, answers, conversation.message)
    else:
        run = await _submitted(gateway, request, conversation, options, stream=stream)
        begun = Begun(run, 0, _NOTHING)
    return FollowedRun(
        gateway=gateway,
        request=request,
        run=begun.run,
        after=begun.after,
        used_before=begun.used_before,
        # The client that sent the request first may still be connected.
        cancels=options.cancels and not replayed,
        wait=wait,
        shown=_shown(gateway, begun.run),
        replayed=replayed,
    )


def _repeated(
    gateway: Gateway, request: Request, conversation: GivenConversation, answers: AnsweredRun | None
) -> Begun:
    """The run of a request that was done before, as the request found it: it is shown the same response."""
    if answers is not None:
        return Begun(answers.run, answers.question.seq, _NOTHING)
    resource = request.scope[REPEATED]
    assert isinstance(resource, str)
    run = gateway.record.run(run_of(resource))
    if resource == run.id:
        return Begun(run, _answered_with(gateway, run, conversation), _NOTHING)
    asked = (one.seq for one in questions(gateway.record, run.id) if one.ask_id == resource)
    return Begun(run, next(asked, 0), _NOTHING)


def _answered_with(gateway: Gateway, run: RunRecord, conversation: GivenConversation) -> int:
    """The number of the question that the message has answered, 0 if the run began with the message.

    Older versions kept only the run with the key of an answer. So the texts decide.
    """
    told = [one.seq for one in questions(gateway.record, run.id) if one.was_answered_with(conversation.message)]
    return told[-1] if told and not _began(run, conversation) else 0


def _began(run: RunRecord, conversation: GivenConversation) -> bool:
    """Return whether the run began with the conversation's message; a session may have added to what was before it."""
    history = history_of(run.message)
    before = history[max(0, len(history) - len(conversation.history)) :]
    return before == conversation.history and run.message.get("content") == conversation.message


def _answer(gateway: Gateway, answers: AnsweredRun, text: str) -> Begun:
    run, question = answers.run, answers.question
    # The question is named: the run may have asked another one meanwhile.
    take_answer(gateway, run.id, text, question.ask_id)
    gateway.dispatcher.wake(run)
    return Begun(run, question.seq, TokenSum.of(run))


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
    return ShownText.of(gateway.app.tree(run.task))
