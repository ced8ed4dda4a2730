"""The words that have a meaning inside a conversation.

A task reads these in message text when `TaskConfig.recognize_string_signals` is on; `NO_ANSWER` and the quit words
are read always.
"""

from __future__ import annotations

DONE = "DONE"
NO_ANSWER = "DO-NOT-KNOW"
PASS = "__PASS__"
PASS_TO = "__PASS__:"
SEND_TO = "__SEND__:"
# A prefix that no prose contains by accident; the recommended `TaskConfig.addressing_prefix`.
AT = "|@|"
USER_QUIT_STRINGS = ("q", "x", "quit", "exit", "bye", DONE)
