"""Calls of models that wait for a batch of their provider: collected by one attempt at an ask, used by a later one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnwise.base.waits import ProviderBatchWait
from turnwise.models.base import LLMMessage, LLMResponse, TokenSink, ToolChoice
from turnwise.models.budget.budget import Amount
from turnwise.models.budget.call import ModelCall
from turnwise.models.budget.wait import CallDeferred, Wait
from turnwise.models.limits.provider import Target
from turnwise.models.openai.chat import OpenAIGPT
from turnwise.models.tokens.usage import LLMTokenUsage
from turnwise.record.events.usage_events import read_usage
from turnwise.record.provider_batches.collecting import CollectedAsk
from turnwise.record.values.outcomes import CollectedRequest
from turnwise.record.values.records import Claim, Json, Usage
from turnwise.tasks.tree import TaskTree

# Seconds after which an ask looks again whose call is collected already.
_LOOK_AGAIN = 60.0


class CallCollected(CallDeferred):
    """The ask of a served run is deferred, and its model's call waits for a batch."""

    code = "call_collected"

    def __init__(self, wait: Wait, request: CollectedRequest | None) -> None:
        super().__init__(wait)
        self.request = request


@dataclass(frozen=True, kw_only=True)
class Collecting:
    """The first call of an attempt whose ask can wait, at most `until` then (seconds since the epoch, `now` is).

    `found` is on record of it already. The gate asks it for each call.
    """

    client: OpenAIGPT
    until: float
    now: float
    found: CollectedAsk | None = None

    @property
    def response(self) -> Json | None:
        """The response of a batch, if there is one."""
        return self.found.response if self.found is not None else None

    def answered(self) -> BatchedGPT | None:
        """The client that gives the response, None without one."""
        return None if self.response is None else BatchedGPT(self)

    def priced(self, call: ModelCall) -> ModelCall:
        """The call at the price of a batch; limits of the provider on direct calls are none for it."""

        def price(into: int, out: int) -> Any:
            usage = LLMTokenUsage(prompt_tokens=into, completion_tokens=out, calls=1)
            return Amount.of(usage.model_copy(update={"cost": self.client.batch_price(usage)}))

        return replace(call, price=price, client=None)

    def check_waiting(self) -> None:
        """Raise `CallCollected` if the call waits for a batch already."""
        if self.found is not None and self.response is None:
            raise self._deferred(min(_LOOK_AGAIN, self.until - self.now), None)

    def collected(self, call: ModelCall, max_tokens: int, call_no: int | None) -> CallCollected:
        """Return what defers the ask, with the call for the record; `call_no` is that of its reservation."""
        assert call.sent is not None, "only an agent's call is collected"
        messages, tools = call.sent
        request = CollectedRequest(
            provider=self.client.target().provider.id,
            model=self.client.config.chat_model,
            body=self.client.batch_request(messages, max_tokens, tools),
            until=self.until,
            call_no=call_no,
        )
        return self._deferred(self.until - self.now, request)

    def usage(self) -> Usage:
        """Return what the response has used."""
        kept = self.found.usage if self.found is not None else None
        return read_usage(kept or {})

    def _deferred(self, seconds: float, request: CollectedRequest | None) -> CallCollected:
        waiting_for = ProviderBatchWait(model=self.client.config.chat_model)
        return CallCollected(Wait(seconds=max(0.0, seconds), waiting_for=waiting_for), request)


class BatchedGPT(OpenAIGPT):
    """Gives the response of a batch as the answer to the first call; later ones are made directly."""

    def __init__(self, collecting: Collecting) -> None:
        super().__init__(collecting.client.config)
        self._client = collecting.client
        self._response = collecting.response

    def answer(
        self, messages: Sequence[LLMMessage], max_tokens: int, tools: ToolChoice | None, on_token: TokenSink | None
    ) -> LLMResponse:
        response, self._response = self._response, None
        if response is None:
            return self._client.answer(messages, max_tokens, tools, on_token)
        return self._client.batch_answer(response, messages)

    async def answer_async(
        self, messages: Sequence[LLMMessage], max_tokens: int, tools: ToolChoice | None, on_token: TokenSink | None
    ) -> LLMResponse:
        if self._response is None:
            return await self._client.answer_async(messages, max_tokens, tools, on_token)
        return self.answer(messages, max_tokens, tools, on_token)

    def target(self) -> Target:
        return self._client.target()


def patience(tree: TaskTree, claim: Claim) -> float | None:
    """Seconds that the model's call of a claimed ask may wait for a batch; None if it may not."""
    ask = claim.ask
    if ask.responder != "llm" or ask.given is not None:
        return None
    return (tree.can_wait(ask.path) if claim.run.can_wait is None else claim.run.can_wait) or None
