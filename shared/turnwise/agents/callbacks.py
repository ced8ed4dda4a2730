"""What an application may be told while an agent works, and asked in a human's place."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

NAMES = (
    "start_llm_stream",
    "start_llm_stream_async",
    "cancel_llm_stream",
    "finish_llm_stream",
    "show_llm_response",
    "show_agent_response",
    "get_user_response",
    "get_user_response_async",
    "get_last_step",
    "set_parent_agent",
    "show_error_message",
    "show_start_response",
)


class Callbacks(SimpleNamespace):
    """Functions by name, all None until an application sets them.

    `get_user_response(prompt=...)` answers as the human; `start_llm_stream()` returns a function that is called with
    each piece of the model's text; `finish_llm_stream(content=..., is_tool=...)` follows it;
    `show_llm_response(content=..., is_tool=...)` and `show_agent_response(content=...)` are told of answers.
    """

    start_llm_stream: Callable[..., Any] | None
    start_llm_stream_async: Callable[..., Any] | None
    cancel_llm_stream: Callable[..., Any] | None
    finish_llm_stream: Callable[..., Any] | None
    show_llm_response: Callable[..., Any] | None
    show_agent_response: Callable[..., Any] | None
    get_user_response: Callable[..., Any] | None
    get_user_response_async: Callable[..., Any] | None
    get_last_step: Callable[..., Any] | None
    set_parent_agent: Callable[..., Any] | None
    show_error_message: Callable[..., Any] | None
    show_start_response: Callable[..., Any] | None

    def __init__(self) -> None:
        super().__init__(**dict.fromkeys(NAMES))
