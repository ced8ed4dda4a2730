"""Vectors from a server that speaks OpenAI's `/v1/embeddings`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from turnwise.effects import Effect, Steps, run_async, run_sync
from turnwise.llm.base import LLMTokenUsage
from turnwise.retrieval.embedder import Embeddings

if TYPE_CHECKING:
    from turnwise.llm.openai_config import OpenAIGPTConfig


class OpenAIEmbedder(BaseModel):
    """An embedder on OpenAI's embeddings API, OpenAI's own or any server that speaks it.

    - `model`: the model's name; `dimensions` asks for shorter vectors, where the model can make them.
    - `api_key` and `api_base`: default to OPENAI_API_KEY and OPENAI_BASE_URL, read at the first call.
    - `organization` and `headers`: sent with each request, where given.
    - `batch_size`: texts in one request.
    - `timeout`: seconds after which a request is given up; none is repeated.
    - `encoding`: how the server sends vectors; base64 is a quarter of the size, float is for servers that refuse it.
    - `provider` and `input_price` (USD per million tokens): as in `OpenAIGPTConfig`.

    Raises `ModelError`, and `ConfigurationError` without a key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = "text-embedding-3-small"
    dimensions: int | None = Field(None, ge=1)
    api_key: SecretStr | None = None
    api_base: str | None = None
    organization: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    batch_size: int = Field(128, ge=1, le=2048)
    timeout: float = Field(60.0, gt=0)
    encoding: Literal["base64", "float"] = "base64"
    provider: str | None = None
    input_price: Decimal | None = Field(None, ge=0)

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
        from turnwise.llm.openai_embeddings import parse_embeddings, post, post_async

        server = self._server()
        vectors: list[Sequence[float]] = []
        usage = LLMTokenUsage()
        for start in range(0, len(texts), self.batch_size):
            batch = list(texts[start : start + self.batch_size])
            answer = yield _request(server, self._body(batch), post, post_async)
            made, used = parse_embeddings(answer, len(batch))
            vectors += made
            usage = usage.plus(self._priced(used, batch))
        return Embeddings(vectors=vectors, usage=usage)

    def _body(self, texts: list[str]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "input": texts, "encoding_format": self.encoding}
        return body if self.dimensions is None else body | {"dimensions": self.dimensions}

    def _server(self) -> OpenAIGPTConfig:
        """Server and key, in the form that the connections are kept by."""
        from turnwise.llm.openai_config import OpenAIGPTConfig

        return OpenAIGPTConfig(
            chat_model=self.model,
            api_key=self.api_key,
            api_base=self.api_base,
            organization=self.organization,
            headers=self.headers,
            timeout=self.timeout,
        )

    def _priced(self, used: LLMTokenUsage, texts: list[str]) -> LLMTokenUsage:
        from turnwise.llm.prices import price

        if not used.prompt_tokens:  # the server told nothing: an upper bound, so that limits still hold
            used = used.model_copy(update={"prompt_tokens": sum(len(text.encode()) for text in texts)})
        own = None if self.input_price is None else {self.model: (self.input_price, Decimal(0))}
        cost = price(self.model, used, provider=self.provider, base_url=self._server().base_url, overrides=own)
        return used.model_copy(update={"cost": cost})


def _request(server: OpenAIGPTConfig, body: dict[str, Any], sync: Any, awaited: Any) -> Effect:
    return Effect(sync=lambda: sync(server, body), awaited=lambda: awaited(server, body))
