"""Parameters of one request, by the names that the chat-completions API gives them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class OpenAICallParams(BaseModel):
    """Parameters of each request of a model, for `OpenAIGPTConfig(params=...)`.

    They have the names and values of the chat-completions API, and win over what the client would send. None leaves a
    parameter out. A name that is not listed here is sent as it is.

    - Sampling: `temperature`, `top_p`, `frequency_penalty`, `presence_penalty`, `logit_bias` (by token id), `seed`,
      `n`, and `stop` (one text or several).
    - `max_tokens`: the greatest length of an answer in tokens; it becomes `max_output_tokens` of the configuration, so
      that limits on cost and tokens count with it.
    - `reasoning_effort`: how long the model thinks, such as "low"; `response_format`: what form its answers have.
    - `logprobs` and `top_logprobs`: probabilities of tokens, which the client does not read.
    - `user`: whom the calls are for, as the provider is told.
    - `extra_body`: a dict of further fields of the body.
    """

    model_config = ConfigDict(extra="allow")

    max_tokens: int | None = None
    temperature: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    response_format: dict[str, Any] | None = None
    logit_bias: dict[int, float] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    top_p: float | None = None
    reasoning_effort: str | None = None
    n: int | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    user: str | None = None
    extra_body: dict[str, Any] | None = None

    def to_dict_exclude_none(self) -> dict[str, Any]:
        """Return what is set, as a dict."""
        return self.model_dump(exclude_none=True)

    def fields_of_body(self) -> dict[str, Any]:
        """Return the fields of a request's body, those of `extra_body` among them."""
        given = self.model_dump(exclude_none=True, exclude={"extra_body", "max_tokens"})
        return given | (self.extra_body or {})
