"""Sessions: conversations that continue from run to run."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

from fastapi import Depends

from turnwise.api.runs import UsageView
from turnwise.api.sessions import AgentView, SessionLinks, SessionTaskView, SessionView
from turnwise.base.ids import SESSION_ID
from turnwise.base.money import decimal_string
from turnwise.base.times import when
from turnwise.errors import NotFoundError
from turnwise.record.values.records import AgentRecord
from turnwise.record.values.session_record import SessionRecord
from turnwise_gateway.access.scopes import READS, WRITES
from turnwise_gateway.gateway import Here
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.readable_json import readable
from turnwise_gateway.http.root_path import public
from turnwise_gateway.http.router import api_router

router = api_router("sessions", "/v1/sessions")


def known_form(session_id: str) -> str:
    """The id, if it can be one: no database is asked about anything else."""
    if not re.fullmatch(SESSION_ID, session_id):
        raise NotFoundError(f"there is no session {session_id!r}: its name is not valid")
    return session_id


Named = Annotated[str, Depends(known_form)]


@router.get("/{session_id}", dependencies=[READS], responses=problems(404, 503))
def show_session(session_id: Named, gateway: Here) -> SessionView:
    """Return what the session remembers, task by task; its runs are in the list of runs."""
    return _view(gateway.record.session(session_id))


@router.delete("/{session_id}", status_code=204, dependencies=[WRITES], responses=problems(404, 409, 503))
def delete_session(session_id: Named, gateway: Here) -> None:
    """Forget the conversations; the runs stay. 409 `session_in_use` while a run of it has not ended.

    A later run with this session id begins anew.
    """
    gateway.record.delete_session(session_id)


def _view(session: SessionRecord) -> SessionView:
    used = session.usage
    return SessionView(
        id=session.id,
        created_at=when(session.created_at),
        last_used_at=when(session.used_at),
        runs=session.runs,
        unfinished=session.unfinished,
        usage=UsageView(
            prompt_tokens=used.prompt_tokens,
            cached_tokens=used.cached_tokens,
            completion_tokens=used.completion_tokens,
            calls=used.calls,
            unpriced_calls=session.unpriced_calls,
            cost=decimal_string(used.cost or Decimal(0)),
        ),
        tasks=[
            SessionTaskView(task=task.task, runs=task.runs, agents=[_agent(agent) for agent in task.agents])
            for task in session.tasks
        ],
        links=SessionLinks(self=public(f"/v1/sessions/{session.id}"), runs=public(f"/v1/runs?session={session.id}")),
    )


def _agent(agent: AgentRecord) -> AgentView:
    state = None if agent.state is None else readable(agent.state)
    return AgentView(agent=agent.key, messages=agent.history_len, tokens=agent.history_tokens, state=state)
