"""A responder's answer to a claimed ask: a fresh agent, one call, and everything that the call changed."""

from __future__ import annotations

import threading
from asyncio import CancelledError
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from turnwise.agents.purse import Purse
from turnwise.app import App
from turnwise.display import quiet_mode
from turnwise.errors import DatabaseUnavailableError, LimitReachedError, TurnwiseError
from turnwise.llm.base import LLMTokenUsage
from turnwise.messages.document import ChatDocument
from turnwise.messages.wire import decode_document, encode_document
from turnwise.runs.records import Claim, Json, NewDocument, Reply, RunRecord, Usage
from turnwise.runs.store import Store
from turnwise.serving.ending import error_record
from turnwise.serving.history_cache import HistoryCache
from turnwise.serving.served_agent import Registry, ServedAgent, over_template

OnToken = Callable[[str], None]


class Answering:
    """Answers claims of one application's runs. Safe to use from many threads."""

    def __init__(self, store: Store, app: App) -> None:
        self._store = store
        self._app = app
        self._histories = HistoryCache(store)

    def answer(self, claim: Claim, on_token: OnToken | None = None) -> Reply:
        """The reply to write; what the responder raised becomes a reply of kind error.

        Raises `DatabaseUnavailableError` alone: the record could not be read, which is no fault of the application's.

        `on_token` is called with pieces of a model's text as they arrive, if its configuration streams.
        """
        ask = claim.ask
        try:
            tree = self._app.tree(claim.run.task)
            registry = tree.registry()
            find = self._finder(claim, registry)
            served = over_template(
                tree.agents[ask.agent],
                claim.agent,
                registry,
                lambda: self._histories.load(claim.run, claim.agent),
            )
            served.agent.lookup_in(find)
            if on_token is not None and served.agent.llm is not None and served.agent.llm.config.stream:
                served.agent.token_watcher = on_token
            message = decode_document(claim.document, registry, find) if claim.document is not None else None
        except DatabaseUnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an application raises ends its run, on record
            return Reply(kind="error", error=error_record(error, place=ask.path))
        return self._call(claim, served, message)

    def accepted(self, claim: Claim, reply: Reply) -> None:
        """Remember a history that was just written, so that the next call need not read it again."""
        self._histories.accepted(claim.run, claim.agent, reply)

    def _call(self, claim: Claim, served: ServedAgent, message: ChatDocument | None) -> Reply:
        agent, responder, purse = served.agent, claim.ask.responder, _purse(claim.run)
        refused: LimitReachedError | None = None
        try:
            value: Any = None
            try:
                # A task that a handler runs on the side has no business among a server's lines.
                with quiet_mode(), purse.open():
                    value = agent.llm_response(message) if responder == "llm" else agent.agent_response(message)
            except LimitReachedError as error:
                refused = error
            document = _as_document(served, responder, value)
            body = encode_document(document) if document is not None else None
            record, state = served.record(), served.state()
            keep, rows = served.history_changes()
        except DatabaseUnavailableError:
            raise
        except (Exception, CancelledError, SystemExit) as error:
            # The same: nothing of a failed call lasts but what it cost. Leaving the program is the main thread's
            # business (a worker is told so there); a handler that tries to has failed.
            if isinstance(error, SystemExit) and threading.current_thread() is threading.main_thread():
                raise
            place = f"{claim.ask.path}:{responder}"
            kept = error_record(error, place=place, tool=agent.tool_in_hand)
            if isinstance(error, TurnwiseError):
                kept["code"] = error.code
            return Reply(kind="error", error=kept, usage=_usage(served, responder, purse.used))
        return Reply(
            kind="refused" if refused else ("answer" if document is not None else "nothing"),
            error={"type": type(refused).__name__, "message": str(refused), "limit": refused.limit}
            if refused
            else None,
            document=_new_document(document, body),
            keep_history=keep,
            history=rows,
            record=record,
            state=state,
            usage=_usage(served, responder, purse.used),
            data={"tools": agent.tools_handled} if agent.tools_handled else {},
        )

    def _finder(self, claim: Claim, registry: Registry) -> Callable[[str], ChatDocument | None]:
        """Looks up documents of the conversation, for tools that hand on what was said before."""
        run = claim.run

        def find(document_id: str) -> ChatDocument | None:
            body = self._store.document(run.id, document_id) or self._store.earlier_document(run, document_id)
            return decode_document(body, registry, find) if body is not None else None

        return find


def _as_document(served: ServedAgent, responder: str, value: Any) -> ChatDocument | None:
    if value is None or isinstance(value, ChatDocument):
        return value
    make = served.agent.create_llm_response if responder == "llm" else served.agent.create_agent_response
    return make(str(value), content_any=value)


def _new_document(document: ChatDocument | None, body: Json | None) -> NewDocument | None:
    if document is None or body is None:
        return None
    return NewDocument(id=document.metadata.id, body=body, parent_id=document.metadata.parent_id or None)


def _purse(run: RunRecord) -> Purse:
    """What the run has left, as far as is on record."""
    return Purse(
        max_cost=run.max_cost or Decimal(0),
        max_tokens=run.max_tokens or 0,
        spent=run.cost,
        tokens=run.prompt_tokens + run.completion_tokens,
    )


def _usage(served: ServedAgent, responder: str, used: LLMTokenUsage) -> Usage | None:
    """What was used in this call, by the agent's model or in a handler; None if no model was called."""
    if not used.calls:
        return None
    agent, model = served.agent, served.agent.llm
    own = model.config.chat_model or model.config.type if model is not None else None
    return Usage(
        prompt_tokens=used.prompt_tokens,
        cached_tokens=used.cached_tokens,
        completion_tokens=used.completion_tokens,
        calls=used.calls,
        cost=used.cost,
        # A handler seldom calls both; where it does, one name has to stand for all.
        model=(agent.other_model if responder == "agent" else None) or own,
    )
