"""A run in a script on a terminal: its messages appear there, and nowhere else."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

SCRIPT = """
from turnwise import *
words = {"begin": "Which colour?", "blue": "DONE It is ordered."}
agent = ChatAgent(ChatAgentConfig(name="clerk", llm=MockLMConfig(response_dict=words)))
task = Task(agent, interactive=True, only_user_quits_root=False)
"""


INTERRUPT, END = "\x03", "\x04"


def on_terminal(
    script: str, answer: str = "", folder: Path | None = None, typed: Sequence[tuple[bytes, str]] = ()
) -> str:
    """Return the output of a program on a terminal at which `answer` is typed when it waits for one; without colours.

    `typed`: what is typed once the program has shown the bytes before it, in order.
    """
    waiting = [(b"leave): ", answer)] if answer else list(typed)
    ours, theirs = pty.openpty()
    env = {**os.environ, "NO_COLOR": "1", "TERM": "dumb"}
    program = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        cwd=folder,
        preexec_fn=_own_terminal,
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
        if waiting and shown.endswith(waiting[0][0]):
            keys = waiting.pop(0)[1]
            if keys == INTERRUPT:
                _await_reading(program.pid)
            os.write(ours, keys.encode() + (b"" if keys in (INTERRUPT, END) else b"\n"))
    os.close(ours)
    assert program.wait(timeout=10) == 0, shown.decode()
    return shown.decode().replace("\r\n", "\n")


def _await_reading(pid: int) -> None:
    """Return once the program waits for input: earlier, the interrupt would meet the code that displays."""
    state, until = Path(f"/proc/{pid}/stat"), time.monotonic() + 10
    while state.exists() and state.read_text().rpartition(")")[2].split()[0] != "S":
        assert time.monotonic() < until, "the program does not wait for input"


def _own_terminal() -> None:
    """Make the terminal the program's own, so that Ctrl-C at it reaches the program."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_messages_appear_on_a_terminal_and_what_was_shown_or_typed_is_not_repeated() -> None:
    assert on_terminal(f"{SCRIPT}\ntask.run('begin')", answer="blue") == (
        "clerk\n"
        "  (clerk) User: begin\n"
        "* (clerk) LLM: Which colour?\n"
        "clerk asks (q or x to leave): blue\n"
        "* (clerk) LLM: DONE It is ordered.\n"
        "end: DONE\n"
    )


SLOW = """
import sys
from turnwise import *
from turnwise.models.mock import MockLM

class Slow(MockLM):
    def chat(self, messages, max_tokens, tools=None, on_token=None):
        on_token("Which ", StreamEventType.TEXT)
        sys.stdin.readline()
        on_token("colour?", StreamEventType.TEXT)
        return LLMResponse(message="Which colour?")

agent = ChatAgent(ChatAgentConfig(name="clerk", llm=MockLMConfig()))
agent.llm = Slow(agent.config.llm)
task = Task(agent)
try:
    print("result:", task.run("begin").content)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_the_beginning_of_an_answer_is_there_while_its_model_still_writes() -> None:
    shown = on_terminal(SLOW, answer="", typed=[(b"Which", "go on"), (b"leave): ", "q")])

    assert "* (clerk) LLM: Whichgo on\n colour?\nclerk asks (q or x to leave): q\nend: USER_QUIT\n" in shown
    assert shown.endswith("result: Which colour?\n")


@pytest.mark.parametrize("key", [INTERRUPT, END])
def test_a_key_that_leaves_the_question_ends_the_run(key: str) -> None:
    shown = on_terminal(f"{SCRIPT}\nprint('result:', task.run('begin').content)", typed=[(b"leave): ", key)])

    assert shown.replace("^C", "").endswith("clerk asks (q or x to leave): \nend: OK\nresult: Which colour?\n")


def test_a_key_that_interrupts_an_answer_ends_its_line() -> None:
    shown = on_terminal(SLOW, typed=[(b"Which", INTERRUPT)])

    assert "* (clerk) LLM: Which^C  [this answer does not count]\nend: ERROR, KeyboardInterrupt" in shown
    assert shown.endswith("interrupted\n")


def test_a_quiet_program_shows_only_the_question() -> None:
    shown = on_terminal(f"{SCRIPT}\nwith quiet_mode():\n    task.run('begin')", answer="blue")

    assert shown == "\nWhich colour?\nclerk asks (q or x to leave): blue\n"


def test_nothing_is_shown_where_there_is_no_terminal() -> None:
    script = f"{SCRIPT}\ntask.interactive = False\ntask.run('begin', turns=1)"

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)

    assert (ran.stdout, ran.stderr) == ("", "")


def test_the_runs_of_a_batch_are_not_mixed_on_the_terminal() -> None:
    shown = on_terminal(f"{SCRIPT}\ntask.interactive = False\nrun_batch_tasks(task, ['begin', 'begin'], turns=1)")

    assert "Which colour?" not in shown
