"""A human at the terminal."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from functools import partial
from threading import RLock
from typing import TextIO

from turnwise.agents.human.typed_lines import Turns, awaited, next_line
from turnwise.base.call_context import CallPart, current_call
from turnwise.errors import CallCancelledError
from turnwise.messages.signals import USER_QUIT_STRINGS

# The text that was shown or typed last, which need not be shown again.
on_screen: ContextVar[str] = ContextVar("turnwise_on_screen", default="")


# Set where no one sits before the standard input, whatever it is: in a server's worker.
UNATTENDED = CallPart(False)


# Set once the human of the current run has left: by a word to quit with, the end of the input, or Ctrl-C.
left: ContextVar[bool] = ContextVar("turnwise_left", default=False)

_askers = Turns()
_LEAVING = "q"
HOW_TO_LEAVE = "(q or x to leave)"


def ask_on_terminal(question: str, asker: str = "") -> str:
    """Show the question and read one line, from a terminal or from what is piped in.

    `asker` is the agent that wants an answer. Returns "q" at Ctrl-D, at Ctrl-C, and once the piped input has ended,
    because no one is left to answer; "" where there is no input at all. Input that is no text in its encoding ends
    there, which the standard error says. Raises `CallCancelledError` as soon as the current token is cancelled.
    """
    return _answer(_typed(_prompt(question, asker)))


async def ask_on_terminal_async(question: str, asker: str = "") -> str:
    """`ask_on_terminal` while the event loop runs on; Ctrl-C is what the loop makes of it."""
    return _answer(await awaited(partial(_typed, _prompt(question, asker))))


def _prompt(question: str, asker: str) -> str:
    shown = not question or question == on_screen.get()
    prompt = f"{asker} asks {HOW_TO_LEAVE}: " if asker else f"{HOW_TO_LEAVE}: "
    return prompt if shown else f"\n{question}\n{prompt}"


def _answer(typed: str | None) -> str:
    if typed is None:
        return ""
    if typed in USER_QUIT_STRINGS:
        left.set(True)
    on_screen.set(typed)
    return typed


def read_line(prompt: str) -> str:
    """Show the prompt and read one line, without blanks around it; "q" where there is no input at all.

    See `ask_on_terminal` for what ends the input.
    """
    typed = _typed(prompt)
    if typed is None:
        return _LEAVING
    on_screen.set(typed)
    return typed


def _typed(prompt: str) -> str | None:
    """Return what is typed, None where there is no input; sets no context variable, as it may be on another thread."""
    stdin = sys.stdin
    if not stdin or stdin.closed or current_call()[UNATTENDED]:
        return None
    with _askers.turn():
        return _typed_into(stdin, prompt)


def _typed_into(stdin: TextIO, prompt: str) -> str | None:
    piped = not stdin.isatty()
    try:
        shared_terminal.ask(sys.stdout, prompt)
        line = next_line(stdin)
    except KeyboardInterrupt:
        shared_terminal.ask(sys.stdout, "\n")
        line = ""
    except CallCancelledError:
        shared_terminal.ask(sys.stdout, "\n")
        raise
    except UnicodeDecodeError as error:
        sys.stderr.write(
            f"\nturnwise: the input is no {error.encoding} text ({error.reason}), so it is taken to end here\n"
        )
        line = ""
    except OSError:  # it cannot be read, as within a test
        return None
    else:
        if piped or not line:  # a terminal shows what is typed by itself, but not Ctrl-D
            shared_terminal.ask(sys.stdout, line or "\n")
    return line.strip() if line else _LEAVING


class SharedTerminal:
    """The terminal of this process, for all its threads: on it one answer is written at a time.

    Lines of others are kept until the answer is complete. Its last line stays open, so that its writer can add to it,
    until someone else has something to show.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._writer: object = None
        self._open: object = None
        self._kept: list[str] = []

    def begin(self, writer: object) -> bool:
        """Give the terminal to a writer of an answer; False while another one has it."""
        with self._lock:
            if self._writer is not None and self._writer is not writer:
                return False
            self._writer = writer
            return True

    def write(self, writer: object, out: TextIO, text: str) -> None:
        """Write a part of the answer of the writer that `begin` was called with."""
        with self._lock:
            if self._open is not writer:
                self._end_line(out)
                self._open = writer
            _write(out, text)

    def end(self, writer: object, out: TextIO) -> None:
        """Take the terminal back once the answer is complete, and show what was kept."""
        with self._lock:
            if self._writer is writer:
                self._writer = None
                kept, self._kept = self._kept, []
                if kept:
                    self.lines(out, "".join(kept))

    def close_line(self, writer: object, out: TextIO, text: str) -> bool:
        """Add `text` to the last line of the answer and end it; False if the line is no longer the last one."""
        with self._lock:
            if self._open is not writer:
                return False
            self._open = None
            _write(out, f"{text}\n")
            return True

    def lines(self, out: TextIO, text: str) -> None:
        """Show whole lines: now, or when the answer that is being written is complete."""
        with self._lock:
            if self._writer is not None:
                self._kept.append(text)
                return
            self._end_line(out)
            _write(out, text)

    def ask(self, out: TextIO, text: str) -> None:
        """Show a question, or what was typed in answer, at once: its asker waits."""
        with self._lock:
            self._end_line(out)
            _write(out, text)

    def _end_line(self, out: TextIO) -> None:
        if self._open is not None:
            self._open = None
            _write(out, "\n")


def _write(out: TextIO, text: str) -> None:
    out.write(text)
    out.flush()


shared_terminal = SharedTerminal()
