"""The rounds in which a worker submits what is collected for its providers, and looks at their batches."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from turnwise.app import App
from turnwise.base.backoff import backoff
from turnwise.base.clock import Thread
from turnwise.errors import ApplicationError, ConfigurationError, EnvironmentFault, ModelError
from turnwise.models.openai.chat import OpenAIGPT
from turnwise.models.renaming import other_model
from turnwise.processes.settings import ServiceSettings
from turnwise.record.provider_batches.batches import ProviderBatch
from turnwise.record.provider_batches.results import MOST_CLEARED
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.values.records import AskRecord
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.moves.permits import permit
from turnwise.serving.observer import Observers

if TYPE_CHECKING:
    from turnwise_responders.batch_work import BatchWork

logger = logging.getLogger(__name__)

# Seconds for which a worker that lives has a batch for itself.
_LEASE = 600.0
# Looks in the shortest of the times that are set, and the seconds between two looks at most.
_LOOKS, _LONGEST = 4, 15.0
# A batch is looked at no more seldom than after so many times the first wait.
_BACKOFF = 10


class BatchRounds:
    """Does what is due for the batches of the providers of an application's models.

    `worker` is this process's incarnation, None while it holds no lease. `seen` are further clients, by their
    provider's bucket: those of runs that name a model.
    """

    def __init__(
        self,
        record: WorkerRole,
        app: App,
        dispatcher: Dispatcher,
        settings: ServiceSettings,
        worker: Callable[[], str | None],
        seen: Mapping[str, OpenAIGPT],
        observers: Observers,
    ) -> None:
        self._app, self._dispatcher, self._observers = app, dispatcher, observers
        self._batches = record.provider_batches
        self._settings, self._worker, self._seen = settings, worker, seen
        # The clients that were made for providers of models that runs name; None for those of other applications.
        self._made: dict[str, OpenAIGPT | None] = {}
        self._clock = record.clock
        self._stopping = self._clock.event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begin, on a thread of its own; nothing to do where no model of the application has batches."""
        if self._settings.provider_batches and any(True for _ in self._models()):
            self._thread = self._clock.start("turnwise-batches", self._work)

    def stop(self) -> None:
        """End; returns when what was begun is done."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def look(self) -> bool:
        """Submit what is to be submitted, and take what has ended; raises `DatabaseUnavailableError`.

        Return whether there may be more calls to be cleared, which are no reason to keep the batches waiting.
        """
        waiting, holder = self._batches.batching_providers(), self._worker()
        if not waiting or holder is None:
            return False
        clients = self._clients(waiting)
        providers = sorted(waiting.keys() & clients.keys())
        cleared = self._batches.clear_collected(providers)
        for answer in cleared.unused:
            self._observers.batched_answer_unused(answer.run, answer.usage)
        most, seconds = self._settings.provider_batch_size, self._settings.provider_batch_seconds
        while batch := self._next(lambda: self._batches.open_batch(providers, most, seconds, holder, _LEASE)):
            self._guarded(batch, holder, self._work_of(clients[batch.provider], holder).submit)
        while batch := self._next(lambda: self._batches.due_batch(providers, holder, _LEASE)):
            self._guarded(batch, holder, self._work_of(clients[batch.provider], holder).follow)
        return cleared.calls == MOST_CLEARED

    def _clients(self, waiting: Mapping[str, str]) -> dict[str, OpenAIGPT]:
        """The clients by their provider's bucket, also those of models that runs named to a process before this one."""
        own = list(self._models())
        clients = {client.target().provider.id: client for client in own} | dict(self._seen)
        self._made = {provider: made for provider, made in self._made.items() if provider in waiting}
        for provider in waiting.keys() - clients.keys() - self._made.keys():
            self._made[provider] = _client_of(provider, waiting[provider], own)
        return clients | {provider: made for provider, made in self._made.items() if made is not None}

    def _next(self, found: Callable[[], ProviderBatch | None]) -> ProviderBatch | None:
        return None if self._stopping.is_set() else found()

    def _guarded(self, batch: ProviderBatch, holder: str, work: Callable[[ProviderBatch], None]) -> None:
        """Work on a leased batch; if that fails, leave it to a later look, and the others have theirs.

        Raises `DatabaseUnavailableError`.
        """
        try:
            work(batch)
        except ModelError as error:
            logger.warning(
                "The provider of %s did not answer for a batch, which is looked at again: %s",
                batch.model,
                error,
                extra={"action": "provider_batch_unreachable", "batch": batch.id, "model": batch.model},
            )
        except EnvironmentFault:
            raise
        except Exception:
            logger.exception(
                "The work on a batch of %s failed; it is looked at again",
                batch.model,
                extra={"action": "provider_batch_failed", "batch": batch.id, "model": batch.model},
            )
        else:
            return
        self._batches.look_again(batch.id, holder, self._wait(batch.looks))

    def _work_of(self, client: OpenAIGPT, holder: str) -> BatchWork:
        from turnwise_responders.batch_work import BatchWork  # loads `openai`

        return BatchWork(
            self._batches,
            client,
            holder,
            tries=self._settings.provider_batch_tries,
            wait=self._wait,
            publish=self._publish,
            observers=self._observers,
        )

    def _publish(self, ask: AskRecord) -> None:
        self._dispatcher.publish(permit(ask))

    def _wait(self, looks: int) -> float:
        first = self._settings.provider_batch_poll_seconds
        return backoff(looks + 1, first, first * _BACKOFF)

    def _models(self) -> Iterator[OpenAIGPT]:
        """The clients of the application's agents that have batches."""
        for name in self._app.tasks:
            try:
                agents = self._app.tree(name).agents
            except ApplicationError:  # told to whoever starts a run of it
                continue
            for agent in agents.values():
                if isinstance(agent.llm, OpenAIGPT) and agent.llm.on_batches:
                    yield agent.llm

    def _work(self) -> None:
        settings = self._settings
        shortest = min(settings.provider_batch_seconds, settings.provider_batch_poll_seconds)
        more = False
        while not self._stopping.wait(0.0 if more else min(shortest / _LOOKS, _LONGEST)):
            more = False
            try:
                more = self.look()
            except EnvironmentFault as error:
                logger.warning("Could not look at batches: %s", error, extra={"action": "provider_batches_not_seen"})
            except Exception:
                # Calls that wait for batches wait for this thread.
                logger.exception("A look at batches failed", extra={"action": "provider_batches_crashed"})


def _client_of(provider: str, model: str, own: Iterable[OpenAIGPT]) -> OpenAIGPT | None:
    """Return a client like one of the application's `own`, for a model at this provider; None if none gets there."""
    for client in own:
        try:
            made = other_model(client, model)
        except ConfigurationError:
            continue
        if isinstance(made, OpenAIGPT) and made.target().provider.id == provider:
            return made
    return None
