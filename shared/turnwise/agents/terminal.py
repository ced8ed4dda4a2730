"""A human at the terminal."""

from __future__ import annotations

import sys


def ask_on_terminal(question: str) -> str:
    """Show the question and read one line; "" at the end of input, or where there is no terminal."""
    if not sys.stdin or not sys.stdin.isatty():
        return ""
    try:
        sys.stdout.write(f"\n{question}\n> " if question else "\n> ")
        sys.stdout.flush()
        return sys.stdin.readline().strip()
    except KeyboardInterrupt:
        return "q"
