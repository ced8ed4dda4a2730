"""The work on one leased batch: its submission, a look at it, and taking its results."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from turnwise.errors import EnvironmentFault, ModelError, ModelRequestError, UnwritableError
from turnwise.models.openai.batches import BatchLine, RemoteBatch
from turnwise.models.openai.chat import OpenAIGPT
from turnwise.record.provider_batches.batches import BatchedCall, ProviderBatch
from turnwise.record.provider_batches.results import Kept, UnusedAnswer
from turnwise.record.roles.provider_batches import ProviderBatchRole
from turnwise.record.values.records import AskRecord
from turnwise.serving.attempts.call_tally import usage_of
from turnwise.serving.observer import Observers

logger = logging.getLogger(__name__)

# HTTP errors that another batch may not meet; the direct call tells of all others as it always does.
_PASSING = (408, 409, 429)


class _Outcomes:
    """The outcomes of a batch's calls, counted; one that cannot be written leaves the others alone."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._error: Exception | None = None

    def note(self, work: Callable[[], str]) -> None:
        """Do `work` on a call, and count its outcome, or keep its error; raises `EnvironmentFault` and `ModelError`."""
        try:
            self.counts[work()] += 1
        except (EnvironmentFault, ModelError):
            raise
        except Exception as error:  # noqa: BLE001 - raised below
            self._error = self._error or error

    def raise_error(self) -> None:
        """Raise the first error, now that all calls had their turn."""
        if self._error is not None:
            raise self._error


class BatchWork:
    """The steps of one worker (`holder`) with a batch of a client's provider; each raises `ModelError`.

    `tries` are the batches that may fail to answer a call, `wait` gives the seconds to a look, by its number,
    `publish` a permit for an ask that may go on, and `observers` are told of ends.
    """

    def __init__(
        self,
        batches: ProviderBatchRole,
        client: OpenAIGPT,
        holder: str,
        *,
        tries: int,
        wait: Callable[[int], float],
        publish: Callable[[AskRecord], None],
        observers: Observers,
    ) -> None:
        self._batches, self._client, self._holder = batches, client, holder
        self._remote = client.batches()
        self._tries, self._wait, self._publish, self._observers = tries, wait, publish, observers

    def submit(self, batch: ProviderBatch) -> None:
        """Upload the calls of a batch that its provider does not have, and have it begin.

        A provider that refuses it would refuse it again, so the calls are made directly then.
        """
        calls = self._batches.batched_calls(batch.id)
        wanted = [call for call in calls if call.wanted]
        dropped = _Outcomes()
        for call in calls:
            if not call.wanted:
                dropped.note(partial(self._put_back, batch, call, "its ask no longer waits"))
        if not wanted:
            dropped.raise_error()
            self._batches.close_batch(batch.id)
            self._observers.provider_batch_ended(batch.model, "empty", dropped.counts)
            return
        try:
            remote = self._remote.submit(batch.id, [(call.ask_id, call.request) for call in wanted])
        except ModelRequestError as error:
            self._refused(batch, wanted, error)
            return
        self._submitted(batch, remote, self._wait(0))
        logger.info(
            "A batch of %d calls of %s is submitted",
            len(wanted),
            batch.model,
            extra={"action": "provider_batch_submitted", "batch": batch.id, "model": batch.model, "calls": len(wanted)},
        )

    def follow(self, batch: ProviderBatch) -> None:
        """Look at a batch, and take its results if it has ended."""
        if batch.remote_id is None:  # a worker was lost with it, and may have submitted it, or its file
            found = self._remote.find(batch.id, batch.created_at)
            if found is None:
                self._remote.clear(batch.id, batch.created_at)
                self._batches.hold_back_paused(batch.id, self._holder)
                self.submit(batch)
            else:
                self._submitted(batch, found, 0.0)
            return
        remote = self._remote.look(batch.remote_id)
        if remote is None or remote.ended:
            self._end(batch, remote)
            return
        if not any(call.wanted for call in self._batches.batched_calls(batch.id)):
            self._remote.cancel(remote.id)
        self._batches.look_again(batch.id, self._holder, self._wait(batch.looks + 1))

    def _refused(self, batch: ProviderBatch, calls: Sequence[BatchedCall], error: ModelRequestError) -> None:
        if not self._batches.holds_batch(batch.id, self._holder):
            return  # this process was taken for dead, and its refusal may be what another's work led to
        outcomes = _Outcomes()
        for call in calls:
            outcomes.note(partial(self._put_back, batch, call, str(error), tries=1))
        outcomes.raise_error()
        self._batches.close_batch(batch.id)
        self._observers.provider_batch_ended(batch.model, "refused", outcomes.counts)
        logger.warning(
            "The provider of %s refuses a batch; its %d calls are made directly: %s",
            batch.model,
            len(calls),
            error,
            extra={"action": "provider_batch_refused", "batch": batch.id, "model": batch.model, "calls": len(calls)},
        )

    def _submitted(self, batch: ProviderBatch, remote: RemoteBatch, look_in: float) -> None:
        if not self._batches.note_submitted(batch.id, self._holder, remote.id, remote.file_id, look_in):
            # This process was taken for dead, and another submits the batch.
            self._remote.cancel(remote.id)
            self._remote.forget(remote)

    def _end(self, batch: ProviderBatch, remote: RemoteBatch | None) -> None:
        left = {call.ask_id: call for call in self._batches.batched_calls(batch.id)}
        outcomes = _Outcomes()
        for line in self._remote.results(remote) if remote is not None and left else ():
            if (call := left.pop(line.custom_id, None)) is not None:
                outcomes.note(partial(self._take, batch, call, line))
        status = "lost" if remote is None else remote.status
        why = (remote.error if remote is not None else None) or f"the batch is {status}"
        for call in left.values():
            outcomes.note(partial(self._put_back, batch, call, why))
        outcomes.raise_error()  # the provider still has the results then, for another look
        counts = outcomes.counts
        # Whoever is killed in between leaves the row, with which another deletes the files.
        if remote is not None:
            self._remote.forget(remote)
        self._batches.close_batch(batch.id)
        self._observers.provider_batch_ended(batch.model, status, counts)
        again = counts["again"] + counts["direct"]
        logger.info(
            "A batch of %s has ended (%s): %d calls are answered, %d are made again, %d were of no use",
            batch.model,
            why,
            counts["answered"],
            again,
            counts["discarded"],
            extra={
                "action": "provider_batch_ended",
                "batch": batch.id,
                "model": batch.model,
                "status": status,
                "answered": counts["answered"],
                "again": counts["again"],
                "direct": counts["direct"],
                "discarded": counts["discarded"],
            },
        )

    def _take(self, batch: ProviderBatch, call: BatchedCall, line: BatchLine) -> str:
        if line.error is not None:
            hopeless = line.status is not None and 400 <= line.status < 500 and line.status not in _PASSING
            return self._put_back(batch, call, line.error, tries=1 if hopeless else self._tries)
        try:
            usage = usage_of(batch.model, self._client.batch_usage(line.completion))
            kept = self._batches.keep_response(batch.id, call.run_id, call.ask_id, line.completion, usage)
        # No completion, or one with a value such as -Infinity for the logarithm of a probability. Kept as the answer,
        # it would be found of no use only when the ask is claimed, and collected anew as if for the first time.
        # Or the error that the server tells in its place.
        except (ModelError, UnwritableError) as error:
            hopeless = isinstance(error, ModelRequestError)
            return self._put_back(batch, call, str(error), tries=1 if hopeless else self._tries)
        return self._told(kept, "answered")

    def _put_back(self, batch: ProviderBatch, call: BatchedCall, error: str, tries: int | None = None) -> str:
        most = self._tries if tries is None else tries
        return self._told(self._batches.put_back(batch.id, call.run_id, call.ask_id, error, most_tries=most), "direct")

    def _told(self, kept: Kept, name: str) -> str:
        if isinstance(kept, str):
            return kept
        if isinstance(kept, UnusedAnswer):
            self._observers.batched_answer_unused(kept.run, kept.usage)
            return "discarded"
        self._publish(kept)
        return name
