"""A run in a script on a terminal: its messages appear there, and nowhere else."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = """
from turnwise import *
words = {"begin": "Which colour?", "blue": "DONE It is ordered."}
agent = ChatAgent(ChatAgentConfig(name="clerk", llm=MockLMConfig(response_dict=words)))
task = Task(agent, interactive=True, only_user_quits_root=False)
"""


def on_terminal(script: str, answer: str = "", folder: Path | None = None) -> str:
    """What a program shows on a terminal at which `answer` is typed when it waits for one; without colours."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "NO_COLOR": "1", "TERM": "dumb"}
    program = subprocess.Popen(
        [sys.executable, "-c", script], stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=folder
    )
    os.close(theirs)
    shown, until = b"", time.monotonic() + 60
    while time.monotonic() < until:
        if not select.select([ours], [], [], 0.1)[0]:
            continue
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux says so when the other side is closed
            break
        if not piece:
            break
        shown += piece
        if answer and shown.endswith(b"> "):
            os.write(ours, answer.encode() + b"\n")
            answer = ""
    os.close(ours)
    assert program.wait(timeout=10) == 0, shown.decode()
    return shown.decode().replace("\r\n", "\n")


def test_messages_appear_on_a_terminal_and_what_was_shown_or_typed_is_not_repeated() -> None:
    assert on_terminal(f"{SCRIPT}\ntask.run('begin')", answer="blue") == (
        "clerk\n"
        "  (clerk) User: begin\n"
        "* (clerk) LLM: Which colour?\n"
        "> blue\n"
        "* (clerk) LLM: DONE It is ordered.\n"
        "end: DONE\n"
    )


def test_a_quiet_program_shows_only_the_question() -> None:
    shown = on_terminal(f"{SCRIPT}\nwith quiet_mode():\n    task.run('begin')", answer="blue")

    assert shown == "\nWhich colour?\n> blue\n"


def test_nothing_is_shown_where_there_is_no_terminal() -> None:
    script = f"{SCRIPT}\ntask.interactive = False\ntask.run('begin', turns=1)"

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)

    assert (ran.stdout, ran.stderr) == ("", "")


def test_the_runs_of_a_batch_are_not_mixed_on_the_terminal() -> None:
    shown = on_terminal(f"{SCRIPT}\ntask.interactive = False\nrun_batch_tasks(task, ['begin', 'begin'], turns=1)")

    assert "Which colour?" not in shown
