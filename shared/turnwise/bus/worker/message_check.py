"""Checks of a message from the broker, before anything is done with it.

A message is no more than a wake-up: whoever gets it reads the database. So one that is refused costs nothing but the
time until the next sweep.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from turnwise.bus.broker.protocol import ANSWER_TASK, MOVE_TASK
from turnwise.bus.envelope import MAX_MESSAGE_BYTES, AskEnvelope, MoveEnvelope, Notice, Work, parse_envelope
from turnwise.bus.signing import WireKeys
from turnwise.errors import InvalidRequestError

_KINDS: dict[str, type[Work]] = {ANSWER_TASK: AskEnvelope, MOVE_TASK: MoveEnvelope}


class Arrived(Protocol):
    """A message as kombu hands it over, its body not decoded."""

    body: Any
    headers: Any
    content_type: Any
    delivery_info: Any


def work_in(message: Arrived, keys: WireKeys) -> Work:
    """The envelope of a message for a work queue; raises `InvalidRequestError` for whatever is not exactly that."""
    text = _read(message)
    headers = message.headers
    expected = _KINDS.get(str(headers.get("task"))) if isinstance(headers, dict) else None
    if expected is None:
        raise InvalidRequestError(f"Expected one of the tasks {', '.join(_KINDS)}; nothing was done")
    keys.check("work", _routing_key(message), text, headers)
    envelope = parse_envelope(_only_argument(_parse(text)))
    if not isinstance(envelope, expected):
        raise InvalidRequestError(f"The envelope of kind {envelope.kind!r} does not belong to its task")
    return envelope


def notice_in(message: Arrived, keys: WireKeys) -> Notice:
    """The notice in a message of the fan-out; raises `InvalidRequestError` for whatever is not exactly that."""
    text = _read(message)
    keys.check("notice", "", text, message.headers)
    envelope = parse_envelope(_parse(text))
    if isinstance(envelope, AskEnvelope | MoveEnvelope):
        raise InvalidRequestError("A work message arrived on the channel of notices; nothing was done")
    return envelope


def _read(message: Arrived) -> bytes:
    """The body's bytes, if they can be an envelope's."""
    if message.content_type != "application/json":
        raise InvalidRequestError(f"Expected application/json, but {message.content_type!r} arrived; nothing was done")
    body = message.body
    text = body.encode(errors="surrogatepass") if isinstance(body, str) else bytes(body)
    if len(text) > MAX_MESSAGE_BYTES:
        raise InvalidRequestError(
            f"The message has {len(text)} bytes, more than the {MAX_MESSAGE_BYTES} of any envelope; nothing was done"
        )
    return text


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError(f"The message is not JSON ({type(error).__name__}); nothing was done") from error


def _only_argument(body: Any) -> Any:
    """The one positional argument of a Celery message that asks for nothing else."""
    try:
        ([argument], named, embedded) = body
    except (TypeError, ValueError) as error:
        raise InvalidRequestError("Expected a task with one argument, the envelope; nothing was done") from error
    if named or not isinstance(embedded, dict) or any(embedded.values()):
        raise InvalidRequestError("Expected a task with one argument, and nothing to be called after it")
    return argument


def _routing_key(message: Arrived) -> str:
    info = message.delivery_info
    return str(info.get("routing_key", "")) if isinstance(info, dict) else ""
