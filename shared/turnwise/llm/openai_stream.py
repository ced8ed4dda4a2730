"""A streamed answer put together again into the completion it would have been."""

from __future__ import annotations

from typing import Any

from turnwise.errors import ModelUnavailableError
from turnwise.llm.base import TokenSink

Json = dict[str, Any]


class StreamAssembler:
    """Takes the chunks of one stream in order; `completion` is then what the API would have sent unstreamed.

    Each piece of text goes to `on_token` as it arrives.
    """

    def __init__(self, on_token: TokenSink | None = None) -> None:
        self._on_token = on_token
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, Json] = {}
        self._function: Json | None = None
        self._usage: Json | None = None
        self._model = ""
        self._finish: str | None = None

    def feed(self, chunk: object) -> None:
        """Take one chunk; raises `ModelUnavailableError` if it is none."""
        try:
            self._feed(chunk)
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelUnavailableError(
                f"the model server streamed something that is no chunk of a chat completion: {str(chunk)[:300]}"
            ) from error

    def _feed(self, chunk: Any) -> None:
        self._model = chunk.get("model") or self._model
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            self._finish = choice.get("finish_reason") or self._finish
            delta = choice.get("delta") or {}
            for name in ("content", "refusal", "reasoning_content", "reasoning"):
                if text := delta.get(name):
                    self._texts.setdefault(name, []).append(text)
                    if name == "content" and self._on_token is not None:
                        self._on_token(text)
            for position, call in enumerate(delta.get("tool_calls") or ()):
                self._tool_call(call, position)
            if function := delta.get("function_call"):
                self._function = self._function or {"name": "", "arguments": ""}
                _extend(self._function, function)

    def _tool_call(self, delta: Json, position: int) -> None:
        index = delta.get("index")
        call = self._calls.setdefault(
            position if index is None else index,
            {"id": None, "type": "function", "function": {"name": "", "arguments": ""}},
        )
        call["id"] = delta.get("id") or call["id"]
        _extend(call["function"], delta.get("function") or {})

    def completion(self) -> Json:
        """The whole answer; raises `ModelUnavailableError` if the stream stopped before its end."""
        if self._finish is None:
            got = sum(len(text) for text in self._texts.get("content", ()))
            raise ModelUnavailableError(f"the model's stream broke off after {got} characters, without a finish reason")
        message: Json = {name: "".join(texts) for name, texts in self._texts.items()}
        if self._calls:
            message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        if self._function:
            message["function_call"] = self._function
        return {"choices": [{"message": message}], "model": self._model, "usage": self._usage}


def _extend(function: Json, delta: Json) -> None:
    # The name comes whole, in the first delta; some servers repeat it. Arguments come in pieces.
    function["name"] = function["name"] or delta.get("name") or ""
    function["arguments"] += delta.get("arguments") or ""
