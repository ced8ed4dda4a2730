"""Vectors from a server that speaks OpenAI's `/v1/embeddings`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from turnwise.base.sync_async import Effect, Steps, run_async, run_sync
from turnwise.integrations.retrieval.embedder import Embeddings, spent_before
from turnwise.models.budget.budget import Amount
from turnwise.models.budget.call import ModelCall
from turnwise.models.budget.gate import current_gate, failed, reserving
from turnwise.models.tokens.usage import LLMTokenUsage

if TYPE_CHECKING:
    from turnwise.models.openai.config import OpenAIGPTConfig

# What models put around a text, at most: marks of its beginning and its end, and of a separation.
_FORM = 4


class OpenAIEmbedder(BaseModel):
    """An embedder on OpenAI's embeddings API, OpenAI's own or any server that speaks it.

    - `model`: the model's name, with a provider before it as in `OpenAIGPTConfig`; `dimensions` asks for shorter
      vectors, where the model can make them.
    - `api_key` and `api_base`: default to those of the provider, read at the first call.
    - `organization` and `headers`: sent with each request, where given.
    - `batch_size`: texts in one request.
    - `timeout`: seconds after which a request is given up; none is repeated.
    - `encoding`: how the server sends vectors; base64 is a quarter of the size, float is for servers that refuse it.
    - `provider` and `input_price` (USD per million tokens): as in `OpenAIGPTConfig`.

    In a run each request is paid from the run's limits before it is made. Raises `ModelError`, `LimitReachedError` if
    they have no room for it, and `ConfigurationError` without a key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = "text-embedding-3-small"
    dimensions: int | None = Field(default=None, ge=1)
    api_key: SecretStr | None = None
    api_base: str | None = None
    organization: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    batch_size: int = Field(default=128, ge=1, le=2048)
    timeout: float = Field(default=60.0, gt=0)
    encoding: Literal["base64", "float"] = "base64"
    provider: str | None = None
    input_price: Decimal | None = Field(default=None, ge=0)

    @property
    def name(self) -> str:
        """The model, and its dimensions where they are not its own."""
        return self.model if self.dimensions is None else f"{self.model}-{self.dimensions}"

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """The vectors of the texts, in requests of `batch_size`, one after the other."""
        return run_sync(self._embed(texts))

    async def embed_async(self, texts: Sequence[str]) -> Embeddings:
        """The same as `embed`, without blocking the event loop."""
        return await run_async(self._embed(texts))

    def _embed(self, texts: Sequence[str]) -> Steps[Embeddings]:
        vectors: list[Sequence[float]] = []
        usage = LLMTokenUsage()
        for start in range(0, len(texts), self.batch_size):
            try:
                made, used = yield from self._one_request(list(texts[start : start + self.batch_size]))
            except BaseException as error:
                spent_before(error, usage)
                raise
            vectors += made
            usage = usage.plus(used)
        return Embeddings(vectors=vectors, usage=usage, counted=True)

    def _one_request(self, batch: list[str]) -> Steps[tuple[list[Sequence[float]], LLMTokenUsage]]:
        from turnwise.models.openai.embeddings import parse_embeddings, post, post_async

        server = self._server()
        hold = yield from reserving(self._call(batch), current_gate())
        try:
            answer = yield _request(server, self._body(batch), post, post_async)
            made, told = parse_embeddings(answer, len(batch), server)
            used = self._used(told, batch)
        except BaseException as error:
            failed(hold, error)
            raise
        hold.settle(used)
        return made, used

    def _call(self, texts: list[str]) -> ModelCall:
        """Return what a request may use at most: it has a prompt, and no answer that costs."""

        def most(prompt_tokens: int, _: int) -> Amount:
            return Amount.of(self._priced(LLMTokenUsage(prompt_tokens=prompt_tokens, calls=1)))

        return ModelCall(model=self.model, prompt=lambda: self._most_tokens(texts), price=most, client=self)

    def _most_tokens(self, texts: list[str]) -> int:
        from turnwise.models.tokens.tokenizer import tokenizer_for

        exact = tokenizer_for(self.model)
        return _FORM * len(texts) + (sum(map(exact, texts)) if exact is not None else _size(texts))

    def _body(self, texts: list[str]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._server().served_model, "input": texts, "encoding_format": self.encoding}
        return body if self.dimensions is None else body | {"dimensions": self.dimensions}

    def _server(self) -> OpenAIGPTConfig:
        """Server and key, in the form that the connections are kept by."""
        from turnwise.models.openai.config import OpenAIGPTConfig

        return OpenAIGPTConfig(
            chat_model=self.model,
            api_key=self.api_key,
            api_base=self.api_base,
            organization=self.organization,
            headers=self.headers,
            timeout=self.timeout,
        )

    def _used(self, told: LLMTokenUsage, texts: list[str]) -> LLMTokenUsage:
        if not told.prompt_tokens:  # the server told nothing: an upper bound, so that limits still hold
            told = told.model_copy(update={"prompt_tokens": _size(texts)})
        return self._priced(told)

    def _priced(self, used: LLMTokenUsage) -> LLMTokenUsage:
        from turnwise.models.tokens.price_list import price

        server = self._server().route
        own = None if self.input_price is None else {server.model: (self.input_price, Decimal(0))}
        cost = price(server.model, used, provider=self.provider, base_url=server.address, overrides=own)
        return used.model_copy(update={"cost": cost})


def _size(texts: list[str]) -> int:
    """Bytes; no byte-level BPE makes more tokens of a text than it has of them."""
    return sum(len(text.encode()) for text in texts)


def _request(server: OpenAIGPTConfig, body: dict[str, Any], sync: Any, awaited: Any) -> Effect:
    return Effect(sync=lambda: sync(server, body), awaited=lambda: awaited(server, body))
