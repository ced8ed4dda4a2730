"""The work on a batch of a provider: calls that cannot be written, are paused, or are answered too late."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from turnwise.errors import ModelError, ModelRateLimitError, ModelRequestError, ModelUnavailableError
from turnwise.models.openai.batches import BatchLine, RemoteBatch
from turnwise.models.tokens.usage import LLMTokenUsage
from turnwise.record.provider_batches.batches import BatchedCall, ProviderBatch
from turnwise.record.provider_batches.results import UnusedAnswer
from turnwise.record.values.records import Usage
from turnwise_responders.batch_work import BatchWork

DAMAGED = "ask-0"


class _Provider:
    """A provider's batches and their record: of three calls, what became of `DAMAGED` cannot be written."""

    def __init__(self, *, answered: bool, wanted: bool = True) -> None:
        self.answered, self.wanted = answered, wanted
        self.put: list[str] = []
        self.closed = self.forgotten = 0

    def batches(self) -> Any:
        return self

    def batched_calls(self, _: str) -> list[BatchedCall]:
        return [BatchedCall(run_id=f"run-{no}", ask_id=f"ask-{no}", request={}, wanted=self.wanted) for no in range(3)]

    def submit(self, *_: object) -> None:
        raise ModelRequestError("no such model")

    def look(self, remote_id: str) -> RemoteBatch:
        return RemoteBatch(id=remote_id, file_id="f", status="completed")

    def results(self, _: object) -> list[BatchLine]:
        return [BatchLine(custom_id=f"ask-{no}", error="cannot") for no in range(3 if self.answered else 0)]

    def put_back(self, _: str, run_id: str, ask_id: str, error: str, *, most_tries: int) -> str:
        if ask_id == DAMAGED:
            raise TypeError("the run's row is damaged")
        self.put.append(ask_id)
        return "again"

    def holds_batch(self, *_: object) -> bool:
        return True

    def close_batch(self, _: str) -> None:
        self.closed += 1

    def forget(self, _: object) -> None:
        self.forgotten += 1


def work_of(provider: Any) -> BatchWork:
    nothing: Any = None
    return BatchWork(provider, provider, "me", tries=2, wait=lambda _: 1.0, publish=nothing, observers=provider)


@pytest.mark.parametrize(
    ("provider", "work"),
    [
        (_Provider(answered=True), BatchWork.follow),
        (_Provider(answered=False), BatchWork.follow),
        (_Provider(answered=False), BatchWork.submit),
        (_Provider(answered=False, wanted=False), BatchWork.submit),
    ],
    ids=["results", "lost", "refused", "unwanted"],
)
def test_a_call_that_cannot_be_written_keeps_no_other_of_its_batch(
    provider: _Provider, work: Callable[[BatchWork, ProviderBatch], None]
) -> None:
    batch = ProviderBatch(id="b", provider="p", model="m", created_at=0.0, remote_id="r", looks=0)

    with pytest.raises(TypeError, match="damaged"):
        work(work_of(provider), batch)

    assert provider.put == ["ask-1", "ask-2"]
    # The batch stays, and is looked at again.
    assert (provider.closed, provider.forgotten) == (0, 0)


class _Away(_Provider):
    """A provider that was away when the batch was to be submitted; its calls are paused since."""

    def __init__(self) -> None:
        super().__init__(answered=False)
        self.ends: list[str] = []

    def find(self, *_: object) -> None:
        return None

    def clear(self, *_: object) -> None:
        return None

    def hold_back_paused(self, _: str, holder: str) -> None:
        self.wanted = False

    def batched_calls(self, batch_id: str) -> list[BatchedCall]:
        return super().batched_calls(batch_id) if self.wanted else []

    def provider_batch_ended(self, _: str, status: str, counts: object) -> None:
        self.ends.append(status)


def test_a_batch_that_could_not_be_submitted_does_not_go_during_a_pause() -> None:
    provider: Any = _Away()
    batch = ProviderBatch(id="b", provider="p", model="m", created_at=0.0, remote_id=None, looks=1)

    work_of(provider).follow(batch)

    assert (provider.ends, provider.put, provider.closed) == (["empty"], [], 1)


class _Telling(_Provider):
    """A provider that tells an error in the body of each answer."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(answered=True)
        self.error = error
        self.tries: list[int] = []

    def results(self, _: object) -> list[BatchLine]:
        return [BatchLine(custom_id=f"ask-{no}", completion={}) for no in range(3)]

    def batch_usage(self, _: object) -> LLMTokenUsage:
        raise self.error

    def put_back(self, _: str, run_id: str, ask_id: str, error: str, *, most_tries: int) -> str:
        self.tries.append(most_tries)
        return "again"

    def provider_batch_ended(self, *_: object) -> None:
        """Nothing is counted here."""


@pytest.mark.parametrize(
    ("error", "tries"),
    [(ModelRequestError("wrong key"), 1), (ModelRateLimitError("busy"), 2), (ModelUnavailableError("broken"), 2)],
)
def test_an_error_that_an_answer_tells_counts_as_that_of_its_line(error: ModelError, tries: int) -> None:
    provider: Any = _Telling(error)
    batch = ProviderBatch(id="b", provider="p", model="m", created_at=0.0, remote_id="r", looks=0)

    work_of(provider).follow(batch)

    assert (provider.tries, provider.closed) == ([tries] * 3, 1)


class _Late(_Provider):
    """A provider whose answers come when no ask waits for them any more."""

    def __init__(self) -> None:
        super().__init__(answered=True)
        self.told: list[tuple[object, object]] = []
        self.counts: object = None

    def results(self, _: object) -> list[BatchLine]:
        return [BatchLine(custom_id=f"ask-{no}", completion={}) for no in range(3)]

    def batch_usage(self, _: object) -> LLMTokenUsage:
        return LLMTokenUsage(prompt_tokens=10, calls=1)

    def keep_response(self, _: str, run_id: str, ask_id: str, response: object, usage: Usage) -> UnusedAnswer | str:
        run: Any = run_id
        return "unknown" if ask_id == DAMAGED else UnusedAnswer(run=run, usage=usage)

    def batched_answer_unused(self, run: object, usage: object) -> None:
        self.told.append((run, usage))

    def provider_batch_ended(self, _: str, status: str, counts: object) -> None:
        self.counts = counts


def test_an_answer_that_no_ask_waits_for_is_told_of_once() -> None:
    provider: Any = _Late()
    batch = ProviderBatch(id="b", provider="p", model="m", created_at=0.0, remote_id="r", looks=0)

    work_of(provider).follow(batch)

    usage = Usage(prompt_tokens=10, model="m", cost=Decimal(0))
    assert provider.told == [("run-1", usage), ("run-2", usage)]
    assert provider.counts == {"unknown": 1, "discarded": 2}
