"""A human at the terminal."""

from __future__ import annotations

import sys
from contextvars import ContextVar

# The text that was shown or typed last, which need not be shown again.
on_screen: ContextVar[str] = ContextVar("turnwise_on_screen", default="")


def ask_on_terminal(question: str) -> str:
    """Show the question and read one line; "" at the end of input, or where there is no terminal."""
    if not sys.stdin or not sys.stdin.isatty():
        return ""
    try:
        shown = not question or question == on_screen.get()
        sys.stdout.write("> " if shown else f"\n{question}\n> ")
        sys.stdout.flush()
        answer = sys.stdin.readline().strip()
    except KeyboardInterrupt:
        return "q"
    on_screen.set(answer)
    return answer
