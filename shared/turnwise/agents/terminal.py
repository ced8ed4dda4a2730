"""A human at the terminal."""

from __future__ import annotations

import sys
from contextvars import ContextVar

# The text that was shown or typed last, which need not be shown again.
on_screen: ContextVar[str] = ContextVar("turnwise_on_screen", default="")


# Set where nobody sits before the standard input, whatever it is: in a server's worker.
unattended: ContextVar[bool] = ContextVar("turnwise_unattended", default=False)


def ask_on_terminal(question: str) -> str:
    """Show the question and read one line, from a terminal or from what is piped in.

    Returns "q" once the piped input has ended, because nobody is left to answer; "" where there is no input at all.
    Input that is no text in its encoding ends there, which the standard error says.
    """
    stdin = sys.stdin
    if not stdin or stdin.closed or unattended.get():
        return ""
    piped = not stdin.isatty()
    try:
        shown = not question or question == on_screen.get()
        sys.stdout.write("> " if shown else f"\n{question}\n> ")
        sys.stdout.flush()
        line = stdin.readline()
    except KeyboardInterrupt:
        return "q"
    except UnicodeDecodeError as error:
        sys.stderr.write(
            f"\nturnwise: the input is no {error.encoding} text ({error.reason}), so it is taken to end here\n"
        )
        return "q"
    except OSError:  # it cannot be read, as within a test
        return ""
    if piped:  # a terminal shows what is typed by itself
        sys.stdout.write(line or "\n")
    if piped and not line:
        return "q"
    answer = line.strip()
    on_screen.set(answer)
    return answer
