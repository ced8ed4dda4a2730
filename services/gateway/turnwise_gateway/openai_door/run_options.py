"""The settings of the run that a request makes, from its metadata, which is text, and its headers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from turnwise.base.ids import SESSION_ID
from turnwise.errors import InvalidRequestError
from turnwise_gateway.bodies import Submission
from turnwise_gateway.http.idempotency import KEY, SESSION
from turnwise_gateway.openai_door.parameters import CommonParameters

_LIMITS = ("max_cost", "max_tokens", "turns", "deadline", "on_limit")
_WHOLE = ("max_tokens", "turns")
_OWN = (*_LIMITS, "session_id", "tags", "on_disconnect")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """A run as a request wants it; `cancels`: it ends with the connection."""

    submission: Submission
    session_id: str | None
    user: str | None
    cancels: bool

    def in_session(self, session_id: str) -> RunOptions:
        """The same in a session."""
        return replace(self, submission=self.submission.model_copy(update={"session_id": session_id}))


def options_of(given: CommonParameters, message: str, request: Request) -> RunOptions:
    """The options of the run; raises `RequestValidationError` and `InvalidRequestError` for those that it cannot have.

    `message` is the run's first one.
    """
    metadata = given.metadata or {}
    session_id = _session(request, metadata)
    user = given.user or given.safety_identifier
    kept = {name: value for name, value in metadata.items() if name not in _OWN}
    body = {
        "task": given.model,
        "message": message,
        "session_id": session_id,
        "limits": {name: _value(name, metadata[name]) for name in _LIMITS if name in metadata},
        "tags": [tag.strip() for tag in metadata.get("tags", "").split(",") if tag.strip()],
        "metadata": kept | ({} if user is None else {"user": user}),
    }
    try:
        submission = Submission.model_validate(body)
    except ValidationError as error:
        raise _named(error) from error
    return RunOptions(submission=submission, session_id=session_id, user=user, cancels=_cancels(request, metadata))


def _value(name: str, text: str) -> object:
    """The value that the text of a limit stands for; the text itself, which is then refused, if it is none."""
    try:
        if name in _WHOLE:
            return int(text)
        return float(text) if name == "deadline" else text
    except ValueError:
        return text


def _named(error: ValidationError) -> RequestValidationError:
    """The same faults at the places where the client has written the values."""
    found = []
    for fault in error.errors():
        first, *rest = fault["loc"]
        inner = [str(part) for part in rest] if first == "limits" else [str(first)]
        place = ("body", "messages") if first == "message" else ("body", "metadata", *inner)
        found.append({**fault, "loc": place})
    return RequestValidationError(found)


def _session(request: Request, metadata: dict[str, str]) -> str | None:
    header, entry = request.headers.get(SESSION), metadata.get("session_id")
    if header and entry and header != entry:
        raise InvalidRequestError(
            f"the header {SESSION} says session {header!r}, and metadata.session_id {entry!r}; send one of them"
        )
    found = header or entry
    if found and not re.fullmatch(SESSION_ID, found):
        raise InvalidRequestError(
            f"{found[:200]!r} cannot be a session; use letters, digits and ._:@-, at most 128 characters"
        )
    return found or None


def _cancels(request: Request, metadata: dict[str, str]) -> bool:
    choice = metadata.get("on_disconnect", "cancel")
    if choice not in ("cancel", "continue"):
        raise InvalidRequestError(f"metadata.on_disconnect is {choice!r}; send cancel or continue")
    # Whoever sends a key means to ask again.
    return choice == "cancel" and request.headers.get(KEY) is None
