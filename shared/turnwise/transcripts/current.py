"""The message that a run is telling its task about, so that `Task.log_message` can write it, or another, down."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from turnwise.messages.document import ChatDocument

# (name of the responder, message, whether it was taken). None where no log is kept.
Write = Callable[[str, ChatDocument, bool], None]

writing: ContextVar[Write | None] = ContextVar("turnwise_run_log", default=None)
