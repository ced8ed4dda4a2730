"""A human at the terminal who takes his time: others continue meanwhile, and nobody has to wait for him."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout

import pytest

from turnwise import ChatAgent, ChatAgentConfig, ChatDocument, MockLMConfig, StatusCode, Task
from turnwise.agents.human.terminal import ask_on_terminal

_PROMPT = "asks (q or x to leave): "


class Human:
    """Types at the standard input, and calls `when_asked` once the program has shown its prompt."""

    def __init__(self, keyboard: int) -> None:
        self._keyboard = keyboard
        self.when_asked: Callable[[], None] = lambda: None
        self.screen = Screen(self)

    def watches(self) -> redirect_stdout[Screen]:
        """Within a test, as the fixtures' output is not the test's."""
        return redirect_stdout(self.screen)

    def types(self, text: str) -> None:
        os.write(self._keyboard, text.encode())


class Screen(io.StringIO):
    def __init__(self, human: Human) -> None:
        super().__init__()
        self._human = human

    def write(self, text: str) -> int:
        size = super().write(text)
        if text.endswith(_PROMPT):
            self._human.when_asked()
        return size

    def shows(self, name: str) -> bool:
        return f"{name} {_PROMPT}" in self.getvalue()


@pytest.fixture(params=["pipe", "terminal"])
def human(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Human]:
    stdin, keyboard = os.pipe() if request.param == "pipe" else reversed(pty.openpty())
    typed = os.fdopen(stdin, encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", typed)
    human = Human(keyboard)
    # So that a test fails instead of waiting for ever.
    late = threading.Timer(30, human.types, ["too late\n"])
    late.start()
    yield human
    late.cancel()
    late.join()
    os.close(keyboard)  # ends the thread that may still read
    if request.param == "pipe":
        typed.read()
    typed.close()


def task(name: str = "clerk") -> Task:
    return Task(ChatAgent(ChatAgentConfig(name=name, llm=MockLMConfig(response_fn=lambda text: f"{text}?"))))


def status(result: ChatDocument | None) -> StatusCode | None:
    return result.metadata.status if result is not None else None


def test_other_coroutines_run_while_the_human_is_asked(human: Human) -> None:
    async def both() -> ChatDocument | None:
        asked = asyncio.create_task(task().run_async("go"))
        while not human.screen.shows("clerk"):
            await asyncio.sleep(0)
        human.types("blue\n")
        while "blue?" not in human.screen.getvalue():
            await asyncio.sleep(0)
        human.types("q\n")
        return await asked

    with human.watches():
        result = asyncio.run(both())

    assert result is not None
    assert (result.content, status(result)) == ("blue?", StatusCode.USER_QUIT)


def test_the_time_of_a_run_is_over_while_the_human_is_asked(human: Human) -> None:
    results = [task().run("go", max_time=0.05), asyncio.run(task().run_async("go", max_time=0.05))]

    assert [(result.content, status(result)) for result in results if result] == [("go?", StatusCode.TIMEOUT)] * 2


def test_a_run_is_killed_while_the_human_is_asked(human: Human) -> None:
    killed = task()
    human.when_asked = lambda: threading.Thread(target=killed.kill).start()

    with human.watches():
        results = [killed.run("go"), asyncio.run(killed.run_async("go"))]

    assert [status(result) for result in results] == [StatusCode.KILL] * 2


def test_a_run_that_is_awaited_no_longer_asks_no_longer(human: Human) -> None:
    async def given_up() -> None:
        asked = asyncio.create_task(task().run_async("go"))
        while not human.screen.shows("clerk"):
            await asyncio.sleep(0)
        asked.cancel()
        await asked

    with human.watches(), pytest.raises(asyncio.CancelledError):
        asyncio.run(given_up())


def test_a_line_that_comes_too_late_answers_the_next_question(human: Human) -> None:
    task().run("go", max_time=0.05)

    human.types("one\ntwo\nthree\n")

    assert [ask_on_terminal("sure?") for _ in range(3)] == ["one", "two", "three"]


def test_runs_side_by_side_ask_one_after_the_other(human: Human) -> None:
    async def both() -> list[StatusCode | None]:
        runs = [asyncio.create_task(task(name).run_async("go")) for name in ("Ann", "Bob")]
        for asked in (1, 2):
            while human.screen.getvalue().count(_PROMPT) < asked:
                await asyncio.sleep(0)
            at_once.append(human.screen.getvalue().count(_PROMPT) - asked)
            human.types("q\n")
        return [status(await run) for run in runs]

    at_once: list[int] = []
    with human.watches():
        assert asyncio.run(both()) == [StatusCode.USER_QUIT] * 2

    assert at_once == [0, 0]
    assert human.screen.shows("Ann")
    assert human.screen.shows("Bob")


def test_who_waits_for_a_turn_to_ask_may_be_killed(human: Human) -> None:
    async def both() -> ChatDocument | None:
        first, second = task("Ann"), task("Bob")
        asked = asyncio.create_task(first.run_async("go"))
        while not human.screen.shows("Ann"):
            await asyncio.sleep(0)
        result = await second.run_async("go", max_time=0.05)
        human.types("q\n")
        await asked
        return result

    with human.watches():
        assert status(asyncio.run(both())) is StatusCode.TIMEOUT
    assert not human.screen.shows("Bob")


def test_of_a_terminal_nothing_is_read_for_a_question_that_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, encoding="utf-8") as typed, os.fdopen(ours, "wb", buffering=0) as keyboard:
        monkeypatch.setattr(sys, "stdin", typed)
        task().run("go", max_time=0.05)

        keyboard.write(b"for the program\n")

        assert os.read(theirs, 100) == b"for the program\n"
