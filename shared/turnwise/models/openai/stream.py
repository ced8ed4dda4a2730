"""A streamed answer put together again into the completion it would have been."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from turnwise.errors import ModelUnavailableError
from turnwise.models.base import StreamEventType
from turnwise.models.openai.content_parts import parts_of
from turnwise.models.openai.streamed_calls import StreamedCalls

Json = dict[str, Any]
Piece = tuple[str, StreamEventType]

_KINDS = {
    "content": StreamEventType.TEXT,
    "refusal": StreamEventType.TEXT,
    "reasoning_content": StreamEventType.REASONING,
    "reasoning": StreamEventType.REASONING,
}


class StreamAssembler:
    """Takes the chunks of one stream in order; `completion` is then what the API would have sent unstreamed.

    `begun` says that a chunk came.
    """

    def __init__(self) -> None:
        self.begun = False
        self._texts: dict[str, list[str]] = {}
        # The first half of a character whose second half is in the next piece, by the name of its text.
        self._halves: dict[str, str] = {}
        self._calls = StreamedCalls()
        self._function: Json | None = None
        self._usage: Any = None
        self._message: Json | None = None
        self._model = ""
        self._finish: str | None = None
        self._error: object = None
        # The usage came by itself, and nothing after it; some servers give no finish reason.
        self._counted = False

    def feed(self, chunk: object) -> list[Piece]:
        """Take one chunk, and say what came with it; raises `ModelUnavailableError` if it is none."""
        self.begun = True
        try:
            return list(self._feed(chunk))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelUnavailableError(
                f"the model server streamed something that is not a chunk of a chat completion: {str(chunk)[:300]}",
                may_have_cost=True,
                outage=False,
            ) from error

    def _feed(self, chunk: Any) -> Iterator[Piece]:
        self._model = chunk.get("model") or self._model
        self._usage = _merged(self._usage, chunk.get("usage"))
        choices = chunk.get("choices") or ()
        self._counted = not choices and bool(chunk.get("usage") or self._counted)
        for choice in choices:
            if choice.get("index"):  # with `n` there are several; the first one is the answer
                continue
            self._finish = choice.get("finish_reason") or self._finish
            self._error = choice.get("error") or self._error
            delta = choice.get("delta") or self._whole(choice.get("message")) or {}
            yield from self._text(delta)
            pieces = delta.get("tool_calls") or ()
            for position, piece in enumerate(pieces):
                call, function = self._calls.of(piece, position, len(pieces)), piece.get("function") or {}
                yield from _extend(call["function"], function, StreamEventType.TOOL_NAME, StreamEventType.TOOL_ARGS)
            if function := delta.get("function_call"):
                self._function = self._function or {"name": "", "arguments": ""}
                yield from _extend(self._function, function, StreamEventType.FUNC_NAME, StreamEventType.FUNC_ARGS)

    def _whole(self, message: Json | None) -> Json | None:
        """Return a message that stands in place of all deltas; None for one that ends what was heard."""
        if not message:
            return None
        if not self._heard:
            self._message = message
            return message
        if self._message is not None and message.get("content") not in (None, "", self._message.get("content")):
            raise ValueError("another message")  # a piece or a whole: a guess could make a part the answer
        return None

    def _text(self, delta: Json) -> Iterator[Piece]:
        if isinstance(delta.get("content"), list):
            content, thoughts = parts_of(delta["content"])
            delta = {**delta, "content": content}
            if thoughts:
                delta.setdefault("reasoning_content", thoughts)
        for name, kind in _KINDS.items():
            if text := delta.get(name):
                if not isinstance(text, str):
                    raise TypeError(f"a {name} of {type(text).__name__}")
                if not (text := self._joined(name, text)):
                    continue
                self._texts.setdefault(name, []).append(text)
                # Some servers send reasoning under both of its names.
                if name != "reasoning" or "reasoning_content" not in delta:
                    yield text, kind

    @property
    def _heard(self) -> bool:
        """Return whether a part of an answer came."""
        return bool(self._texts or self._calls or self._function)

    def _joined(self, name: str, text: str) -> str:
        """Return a piece with the half that was kept before it, and without a half at its end, which is kept."""
        if half := self._halves.pop(name, ""):
            text = (half + text).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        if "\ud800" <= text[-1] <= "\udbff":
            self._halves[name] = text[-1]
            text = text[:-1]
        return text

    def completion(self) -> Json:
        """The whole answer; raises `ModelUnavailableError` if the stream stopped before its end."""
        if self._finish is None and not self._error and not (self._counted and self._heard):
            got = sum(len(text) for text in self._texts.get("content", ()))
            raise ModelUnavailableError(
                f"the model's stream broke off after {got} characters, without a finish reason", True
            )
        message: Json = {name: "".join(texts) for name, texts in self._texts.items()}
        for name, half in self._halves.items():
            message[name] = message.get(name, "") + half
        if calls := self._calls.whole():
            message["tool_calls"] = calls
        if self._function:
            message["function_call"] = self._function
        return {
            "choices": [{"message": message, "finish_reason": self._finish, "error": self._error}],
            "model": self._model,
            "usage": self._usage,
        }


def _merged(usage: Any, more: Any) -> Any:
    """Return the usage after one that came later; some servers tell the prompt first, and the completion at the end."""
    if isinstance(usage, dict) and isinstance(more, dict):
        return usage | {name: count for name, count in more.items() if count}
    return more or usage


def _extend(function: Json, delta: Json, named: StreamEventType, argued: StreamEventType) -> Iterator[Piece]:
    # The name comes whole, in the first delta; some servers repeat it. Arguments come in pieces.
    if not function["name"] and (name := delta.get("name")):
        function["name"] = name
        yield name, named
    if arguments := delta.get("arguments"):
        if isinstance(arguments, dict):  # not what the API says, but some servers do
            arguments = json.dumps(arguments)
        function["arguments"] += arguments
        yield arguments, argued
