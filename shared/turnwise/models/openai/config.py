"""Settings of the OpenAI client; importing them imports no client."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from turnwise.base.loopback import is_loopback
from turnwise.errors import ConfigurationError
from turnwise.models.base import LLMConfig
from turnwise.models.call_params import OpenAICallParams
from turnwise.models.limits.window import Caps
from turnwise.models.providers import ModelRoute, route

# https://platform.openai.com/docs/guides/structured-outputs: gpt-4o-2024-08-06 and later.
_TOO_OLD_FOR_SCHEMAS = re.compile(r"gpt-3|gpt-4$|gpt-4-|gpt-4o-2024-05-13|o1-mini|o1-preview")


class OpenAIGPTConfig(LLMConfig):
    """A model behind the chat-completions API, OpenAI's own or any server that speaks it.

    - `chat_model`: the model's name, as the server knows it. A provider may stand before it: `groq/llama-3.3-70b`,
      `ollama/qwen3`, `local/localhost:8000/v1`. It decides the address and the key, see `Names of models` in the docs.
      A member of an enumeration such as `GeminiModel` stands for the model at its own provider.
    - `api_key` and `api_base`: default to the provider's; without one to OPENAI_API_KEY, and to OPENAI_BASE_URL or
      OPENAI_API_BASE, read when the first call is made.
    - `organization` and `headers`: sent with each request, where given.
    - `params`: sent with each request as they are (`reasoning_effort`, `top_p`, ...), a dict or `OpenAICallParams`;
      they win over what the client would send. `OpenAICallParams(max_tokens=)` sets `max_output_tokens`.
    - `seed` and `parallel_tool_calls`: parameters of the API of these names; None leaves them out.
    - `output_limit`: the field for the output limit; `auto` takes `max_completion_tokens` for OpenAI itself, whose
      newer models refuse the older `max_tokens` that other servers know.
    - `stream_usage`: asks for token counts at the end of a stream; switch it off for servers that refuse
      `stream_options`.
    - `supports_json_schema`: whether the server holds the model to a schema (`response_format`); None assumes it of
      OpenAI itself, but for models older than that. Set it for other servers that do, such as vLLM.
    - `input_price` and `output_price`: USD per million tokens, both or none. Without them the price is looked up by
      provider and model; `provider` (such as `openai`) names the provider where `api_base` is a proxy.
    - `requests_per_minute`, `tokens_per_minute` and `max_concurrency` (calls at once): what the server lets through
      for this model and key; calls wait for room. None: what the server announces, no limit where it announces none.
      `limit_window` is the length of that minute in seconds, for servers that count otherwise, and for tests.

    Raises `ConfigurationError` for a setting that does not exist, and for one price without the other; its model's
    client does so for a provider that is not known.
    """

    type: str = "openai"
    chat_model: str = "gpt-4.1-mini"
    api_key: SecretStr | None = None
    api_base: str | None = None
    organization: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    params: OpenAICallParams | dict[str, Any] = Field(default_factory=dict)
    seed: int | None = None
    parallel_tool_calls: bool | None = None
    output_limit: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    stream_usage: bool = True
    supports_json_schema: bool | None = None
    provider: str | None = None
    input_price: Decimal | None = Field(default=None, ge=0)
    output_price: Decimal | None = Field(default=None, ge=0)
    requests_per_minute: int | None = Field(default=None, gt=0)
    tokens_per_minute: int | None = Field(default=None, gt=0)
    max_concurrency: int | None = Field(default=None, gt=0)
    limit_window: float = Field(default=60.0, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        params = given.get("params")
        if isinstance(params, OpenAICallParams) and params.max_tokens is not None:
            given = {**given, "max_output_tokens": params.max_tokens}
        return given

    @model_validator(mode="after")
    def _has_both_prices(self) -> Self:
        if (self.input_price is None) != (self.output_price is None):
            missing = "input_price" if self.input_price is None else "output_price"
            raise ConfigurationError(f"{missing} is missing; give both prices, in USD per million tokens, or none")
        return self

    @property
    def route(self) -> ModelRoute:
        """The server that the model's name stands for; raises `ConfigurationError` for an unknown provider."""
        return route(self.chat_model, self.api_base)

    @property
    def base_url(self) -> str:
        """The address of requests: `api_base`, else what `chat_model` stands for."""
        return self.route.address

    @property
    def served_model(self) -> str:
        """The model's name as its server knows it, without the provider."""
        return self.route.model

    @property
    def known_model(self) -> str:
        """The name by which lists of prices and contexts know the model."""
        return self.served_model

    @property
    def request_path(self) -> str:
        """Return where requests go, below the address."""
        return "/chat/completions"

    @property
    def request_headers(self) -> dict[str, str]:
        """Headers of each request, beside those of the client."""
        return self.headers

    def own_client(self, *, awaited: bool) -> Any | None:
        """Return the program's own client of the `openai` library, None if it brings none.

        `awaited` asks for the asynchronous one.
        """
        return None

    @property
    def sent_params(self) -> dict[str, Any]:
        """Return what `params` adds to a request's body, by field."""
        return self.params.fields_of_body() if isinstance(self.params, OpenAICallParams) else self.params

    @property
    def key(self) -> str:
        """The API key: `api_key`, else that of the provider out of the environment; "" without one.

        Blanks and line ends around it are not part of it: a key that is read from a file has one.
        """
        return (self.api_key.get_secret_value() if self.api_key else self.route.key).strip()

    @property
    def needs_key(self) -> bool:
        """Return whether the server takes no request without a key; one on this machine, or that people run, may."""
        found = self.route
        return found.provider.needs_key and not is_here(found.address)

    @property
    def caps(self) -> Caps:
        """The limits that are configured."""
        return Caps(
            requests=self.requests_per_minute,
            tokens=self.tokens_per_minute,
            concurrency=self.max_concurrency,
            window=self.limit_window,
        )

    @property
    def limit_field(self) -> str:
        """The request's field for the greatest number of output tokens."""
        if self.output_limit != "auto":
            return self.output_limit
        return "max_completion_tokens" if self._at_openai else "max_tokens"

    @property
    def holds_to_schema(self) -> bool:
        """Return whether the server can enforce a JSON schema: as `supports_json_schema` says, or by the model."""
        if self.supports_json_schema is not None:
            return self.supports_json_schema
        return self._at_openai and not _TOO_OLD_FOR_SCHEMAS.match(self.known_model)

    @property
    def takes_any_arguments(self) -> bool:
        """Return whether a call may be sent back with arguments that are no JSON object.

        OpenAI takes any text; other servers read it for their templates, and refuse the whole request.
        """
        return self._at_openai

    @property
    def _at_openai(self) -> bool:
        host = _host_of(self.base_url)
        return host.endswith((".openai.com", ".openai.azure.com"))


def is_here(url: str) -> bool:
    """Return whether `url` names this machine."""
    return is_loopback(_host_of(url))


def _host_of(url: str) -> str:
    """The host of an address; none of one that is malformed, which the first call tells."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
