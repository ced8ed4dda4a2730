"""A responder's answer to a claimed ask: a fresh agent, one call, and everything that the call changed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from turnwise.app import App
from turnwise.base.cancellation import Cancellation
from turnwise.base.process_end import ends_process
from turnwise.errors import ApplicationError, DatabaseUnavailableError
from turnwise.messages.document import ChatDocument
from turnwise.messages.wire import decode_document
from turnwise.models.openai.chat import OpenAIGPT
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.values.kept_errors import RaisedError
from turnwise.record.values.outcomes import Outcome, Reply
from turnwise.record.values.records import Claim, RunRecord
from turnwise.serving.attempts.attempt import Attempt
from turnwise.serving.attempts.budget_gate import ServedGate, Spending
from turnwise.serving.attempts.collecting import Collecting, patience
from turnwise.serving.attempts.history_cache import HistoryCache
from turnwise.serving.attempts.other_models import OtherModels
from turnwise.serving.attempts.served_agent import Registry, ServedAgent, over_template
from turnwise.serving.attempts.served_calls import ReceiptRecord, ServedCalls, StoreRecord
from turnwise.serving.attempts.work_times import Work
from turnwise.serving.moves.run_end import error_record
from turnwise.serving.moves.versions import explained

logger = logging.getLogger(__name__)

OnToken = Callable[[str], None]
Find = Callable[[str], ChatDocument | None]


class Answering:
    """Answers claims of one application's runs, about so many `at_once`. Safe to use from many threads."""

    def __init__(
        self,
        store: WorkerRole,
        app: App,
        spending: Spending | None = None,
        record: ReceiptRecord | None = None,
        *,
        at_once: int = 16,
        collects: bool = False,
    ) -> None:
        self._store = store
        self._record = record if record is not None else StoreRecord(store)
        self._app = app
        self._spending = spending or Spending()
        self._histories = HistoryCache(store, at_once)
        self._models = OtherModels()
        self._collects = collects
        # The clients whose calls were collected here, by their provider's bucket.
        self.collected_from: dict[str, OpenAIGPT] = {}

    def answer(
        self,
        claim: Claim,
        on_token: OnToken | None = None,
        cancellation: Cancellation | None = None,
        *,
        text_wanted: bool = False,
    ) -> Outcome | None:
        """The reply to write, or why there is none: the ask is deferred or parked, or `cancellation` cut the work
        short.

        None if this process has to end without a word.

        What the responder raised becomes a reply of kind error. Raises `DatabaseUnavailableError` alone: the record
        could not be read, or the lease not be renewed, which is no fault of the application's; the ask may be given to
        another then.

        `on_token` is called with pieces of a model's text as they arrive, if its configuration streams, or leaves that
        open and the text is wanted (`text_wanted`) when the answer begins.
        """
        work = Work(self._store.clock)
        try:
            served, find = self._served(claim, None if on_token is None else work.hearing(on_token), text_wanted)
            document = claim.document
            message = decode_document(document, served.registry, find) if document is not None else None
            # A first claim follows no one who could have left receipts.
            before = self._store.receipts(claim.ask.run_id, claim.ask.id) if claim.token > 1 else ()
            collecting = self._collecting(claim, served)
            prefixes = self._app.tree(claim.run.task).root.prefixes
        except DatabaseUnavailableError:
            raise
        except BaseException as error:  # whatever an application raises ends its run, on record
            if ends_process(error):
                raise
            logger.exception(
                "The application of run %s failed",
                claim.run.id,
                extra={"action": "application_failed", "path": claim.ask.path},
            )
            record = error_record(error, place=claim.ask.path)
            return Reply(kind="error", error=explained(record, claim.run, self._app))
        attempt = Attempt(
            claim=claim,
            served=served,
            handlers=ServedCalls(claim, served, before, self._record, find, work),
            gate=ServedGate(self._store, claim, self._spending, work, collecting),
            cancellation=cancellation or Cancellation(),
            work=work,
            collecting=collecting,
            prefixes=prefixes,
        )
        outcome = attempt.outcome(message)
        kept = outcome.error if isinstance(outcome, Reply) else None
        if isinstance(outcome, Reply) and isinstance(kept, RaisedError) and kept.code == ApplicationError.code:
            # What another version saved may be read as late as in the middle of a handler.
            return replace(outcome, error=explained(kept, claim.run, self._app))
        return outcome

    def accepted(self, claim: Claim, reply: Reply) -> None:
        """Remember a history that was just written, so that the next call need not read it again."""
        self._histories.accepted(claim.run, claim.agent, reply)

    def _collecting(self, claim: Claim, served: ServedAgent) -> Collecting | None:
        """The call of a claimed ask that can wait for a batch of its provider; None for one that is made now."""
        client = served.agent.llm
        if not self._collects or not isinstance(client, OpenAIGPT) or not client.on_batches:
            return None
        seconds = patience(self._app.tree(claim.run.task), claim)
        # Only a deferred ask was collected; one that was may have a response, whatever is set by now.
        found = self._store.collected(claim) if claim.ask.deferrals else None
        if found is None and seconds is None:
            return None
        now = claim.ask.claimed_at or claim.ask.created_at
        until = found.until if found is not None else claim.ask.created_at + (seconds or 0.0)
        if until <= now and (found is None or found.response is None):
            return None
        self.collected_from[client.target().provider.id] = client
        return Collecting(client=client, until=until, now=now, found=found)

    def _served(self, claim: Claim, on_token: OnToken | None, text_wanted: bool) -> tuple[ServedAgent, Find]:
        """The agent as the claim's record has it, and what looks up documents for it."""
        tree = self._app.tree(claim.run.task)
        registry = tree.registry()
        find = EarlierDocuments(self._store, claim.run, registry).find
        template = tree.agents[claim.ask.agent]
        load = partial(self._histories.load, claim.run, claim.agent)
        served = over_template(template, claim.agent, registry, load)
        if claim.run.model is not None:
            self._models.give(served.agent, claim.run.model)
            served.model = served.agent.llm
        served.agent.history.finder = find
        model = served.agent.llm
        if model is not None and (text_wanted if model.config.stream is None else model.config.stream):
            served.agent.token_watcher = on_token
        return served, find


class EarlierDocuments:
    """Looks up documents of a run's conversation, for tools that hand on what was said before.

    A class, because a function that hands on itself holds itself, and all that it needs.
    """

    def __init__(self, store: WorkerRole, run: RunRecord, registry: Registry) -> None:
        self._store, self._run, self._registry = store, run, registry

    def find(self, document_id: str) -> ChatDocument | None:
        """Return a document by id, None if there is none."""
        run = self._run
        body = self._store.document(run.id, document_id) or self._store.earlier_document(run, document_id)
        return decode_document(body, self._registry, self.find) if body is not None else None
