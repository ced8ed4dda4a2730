"""Answers of models on the terminal of a script while they are written, and how its human leaves."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

import pytest

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    MockLMConfig,
    RetryPolicy,
    StatusCode,
    Task,
    ToolMessage,
    quiet_mode,
)
from turnwise.errors import ModelUnavailableError
from turnwise.models.base import (
    LLMFunctionCall,
    LLMMessage,
    LLMResponse,
    OpenAIToolCall,
    StreamEventType,
    TokenSink,
    ToolChoice,
)
from turnwise.models.mock import MockLM
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.wire import request_body
from turnwise.models.tokens.usage import LLMTokenUsage

TEXT, REASONING = StreamEventType.TEXT, StreamEventType.REASONING
Said = Sequence[str | tuple[str, StreamEventType] | Exception]


class Tty(io.StringIO):
    """A terminal: what is shown on it, or what somebody types at it."""

    def isatty(self) -> bool:
        return True


class Speaker(MockLM):
    """Says one of the given answers at each call, piece by piece."""

    def __init__(self, answers: Sequence[Said], response: LLMResponse | None = None, **settings: Any) -> None:
        super().__init__(MockLMConfig(**settings))
        self.answers = list(answers)
        self.response = response
        self.heard: list[bool] = []

    def answer(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None = None,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        self.heard.append(on_token is not None)
        text = ""
        for piece in self.answers.pop(0):
            if isinstance(piece, Exception):
                raise piece
            said, kind = (piece, TEXT) if isinstance(piece, str) else piece
            text += said if kind is TEXT else ""
            if on_token is not None:
                on_token(said, kind)
        return self.response or LLMResponse(message=text, usage=LLMTokenUsage(calls=1))


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Tty:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdin", None)
    return Tty()


def task(speaker: MockLM, name: str = "clerk", **settings: Any) -> Task:
    agent = ChatAgent(ChatAgentConfig(name=name, llm=speaker.config, retry=RetryPolicy(tries=3, first_wait=0)))
    agent.llm = speaker
    return Task(agent, **{"interactive": False, "single_round": True, **settings})


def run(asked: Task, screen: io.StringIO, **settings: Any) -> ChatDocument | None:
    """The result of a run whose standard output is `screen`."""
    with redirect_stdout(screen):
        result: ChatDocument | None = asked.run("begin", **settings)
        return result


def shown_of(screen: Tty) -> list[str]:
    """The lines between the message that a run was given and its end."""
    return screen.getvalue().split("\n")[2:-2]


def test_an_answer_is_on_the_terminal_piece_by_piece_before_it_is_complete(screen: Tty) -> None:
    seen: list[str] = []

    class Looking(Speaker):
        def answer(
            self,
            messages: Sequence[LLMMessage],
            max_tokens: int,
            tools: ToolChoice | None = None,
            on_token: TokenSink | None = None,
        ) -> LLMResponse:
            def look(text: str, kind: StreamEventType) -> None:
                assert on_token is not None
                on_token(text, kind)
                seen.append(screen.getvalue().rpartition("\n")[2])

            return super().answer(messages, max_tokens, tools, look)

    run(task(Looking([["Which", " colour", "?"]])), screen)

    assert seen == ["* (clerk) LLM: Which", "* (clerk) LLM: Which colour", "* (clerk) LLM: Which colour?"]
    assert screen.getvalue() == ("clerk\n  (clerk) User: begin\n* (clerk) LLM: Which colour?\nend: FIXED_TURNS\n")


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        (["\n\n one", " \n", "\ntwo \n\n"], ["* (clerk) LLM: one", "    ", "    two"]),
        (["red \x1b", "[31m", "\x1b]0;", "title\x07"], [r"* (clerk) LLM: red \x1b[31m\x1b]0;title\x07"]),
        (["one\r", "\ntwo", "\rthree"], ["* (clerk) LLM: one", "    two", "    three"]),
        (
            [("Two and ", REASONING), ("\ntwo.\n", REASONING), "\n\nFour."],
            ["  (clerk) LLM thinks: Two and", "    two.", "* (clerk) LLM: Four."],
        ),
        (["DO-NOT-KNOW"], ["* (clerk) LLM: DO-NOT-KNOW  [not taken]", "* (clerk) LLM: DO-NOT-KNOW"]),
        (["TO[User]: Well?"], ["* (clerk) LLM: TO[User]: Well?  [=> User]"]),
        (["", " \n"], ["  (clerk) LLM: ", "  (clerk) no one answers"]),
    ],
)
def test_what_a_model_says_is_shown_once_and_harmless(screen: Tty, pieces: Said, lines: list[str]) -> None:
    run(task(Speaker([pieces])), screen)

    assert [line.rstrip() or line for line in shown_of(screen)] == [line.rstrip() or line for line in lines]


def test_an_answer_that_breaks_off_says_so_before_it_begins_anew(screen: Tty) -> None:
    run(task(Speaker([["I was go", ModelUnavailableError("gone")], ["I was going", " home."]])), screen)

    assert shown_of(screen) == [
        "* (clerk) LLM: I was go  [this answer does not count]",
        "* (clerk) LLM: I was going home.",
    ]


def test_an_answer_that_breaks_off_for_good_leaves_a_whole_line(screen: Tty) -> None:
    with pytest.raises(ModelUnavailableError):
        run(task(Speaker([["I was", ModelUnavailableError("gone")]] * 3)), screen)

    *_, last, end = screen.getvalue().splitlines()
    assert last == "* (clerk) LLM: I was  [this answer does not count]"
    assert end.startswith("end: ERROR, ModelUnavailableError: gone")


def test_calls_are_shown_as_they_are_written_with_what_they_cost(screen: Tty) -> None:
    class Square(ToolMessage):
        request: str = "square"
        purpose: str = "square it"
        number: int

        def handle(self) -> str:
            return str(self.number**2)

    calls = [OpenAIToolCall(id="c1", function=LLMFunctionCall(name="square", arguments={"number": 3}))]
    usage = LLMTokenUsage(prompt_tokens=7, completion_tokens=5, calls=1)
    response = LLMResponse(message="Let me see.", oai_tool_calls=calls, usage=usage)
    streamed: Said = ["Let me see.\n", ("square", StreamEventType.TOOL_NAME), ('{"number":', StreamEventType.TOOL_ARGS)]
    speaker = Speaker([[*streamed, (" 3}", StreamEventType.TOOL_ARGS)], ["Let me see."]], response)
    asked = task(speaker, single_round=False)
    asked.agent.enable_message(Square)

    run(asked, screen, turns=3)

    call = ["* (clerk) LLM: Let me see.", '    square {"number": 3}  [12 tokens, $0.0000]']
    # The second answer is streamed without its call, which is shown with the message.
    later = ["* (clerk) LLM: Let me see.", '    square { "number": 3 }  [12 tokens, $0.0000]']
    assert shown_of(screen) == [*call, "* (clerk) Agent: 9", *later]


def test_answers_of_sub_tasks_are_indented_under_their_callers(screen: Tty) -> None:
    boss = task(Speaker([["Ask", " them."], ["DONE", " so."]]), name="boss", single_round=False)
    boss.add_sub_task(task(Speaker([[("Hm.", REASONING), "one\n", "two"]]), name="helper"))

    run(boss, screen)

    assert "    (boss/helper) LLM thinks: Hm.\n  * (boss/helper) LLM: one\n      two\n" in screen.getvalue()
    assert screen.getvalue().count("two") == 2  # the sub-task's result is a message of its caller's


def test_a_model_that_is_not_to_stream_is_shown_whole(screen: Tty) -> None:
    speaker = Speaker([["Which", " colour?"]], stream=False)

    run(task(speaker), screen)

    assert speaker.heard == [False]
    assert shown_of(screen) == ["* (clerk) LLM: Which colour?"]


def test_nothing_is_streamed_in_quiet_or_without_a_terminal(screen: Tty, monkeypatch: pytest.MonkeyPatch) -> None:
    speaker = Speaker([["Well."], ["Well."]])

    with quiet_mode():
        run(task(speaker), screen)
    run(task(speaker), plain := io.StringIO())

    assert (speaker.heard, screen.getvalue(), plain.getvalue()) == ([False, False], "", "")


def test_a_request_is_streamed_only_while_its_answer_is_watched_unless_the_settings_say_so() -> None:
    def streams(stream: bool | None, *, watched: bool) -> bool:
        config = OpenAIGPTConfig(chat_model="gpt-5-mini", stream=stream)
        return "stream" in request_body(config, [], 10, None, watched=watched)

    assert [streams(None, watched=watched) for watched in (False, True)] == [False, True]
    assert [streams(True, watched=watched) for watched in (False, True)] == [True, True]
    assert [streams(False, watched=watched) for watched in (False, True)] == [False, False]


def test_colours_of_a_streamed_answer_end_with_each_piece(screen: Tty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    run(task(Speaker([[("Hm.", REASONING), "one", "\ntwo"]])), screen)
    assert "\x1b[2mHm.\x1b[0m\n\x1b[32m* (clerk) LLM: \x1b[0m\x1b[32mone\x1b[0m\n" in screen.getvalue()

    monkeypatch.setenv("TERM", "dumb")
    screen.truncate(0)
    run(task(Speaker([["one"]])), screen)
    assert "\x1b" not in screen.getvalue()


def test_two_runs_at_once_do_not_write_into_each_others_answers(screen: Tty) -> None:
    class Slow(Speaker):
        async def answer_async(self, *args: Any, **more: Any) -> LLMResponse:
            name = self.answers[0][0]
            for word in ("says ", "a ", "few ", "words."):
                args[3](f"{name} {word}", TEXT)
                await asyncio.sleep(0)
            return LLMResponse(message="".join(f"{name} {word}" for word in ("says ", "a ", "few ", "words.")))

    async def both() -> None:
        await asyncio.gather(*(task(Slow([[name]]), name).run_async("go") for name in ("Ann", "Bob")))

    with redirect_stdout(screen):
        asyncio.run(both())

    for name in ("Ann", "Bob"):
        assert f"* ({name}) LLM: {name} says {name} a {name} few {name} words.\n" in screen.getvalue()
    assert screen.getvalue().count("end: FIXED_TURNS\n") == 2


# --- leaving ---------------------------------------------------------------------------------------------------


def talk(screen: Tty, monkeypatch: pytest.MonkeyPatch, typed: str, answers: Sequence[str], **settings: Any) -> Any:
    monkeypatch.setattr(sys, "stdin", Tty(typed))
    speaker = Speaker([[answer] for answer in answers])
    return run(task(speaker, interactive=True, single_round=False, **settings), screen)


@pytest.mark.parametrize("leaving", ["q\n", "x\n", " bye \n", "DONE\n", ""])
def test_who_leaves_the_terminal_does_not_make_that_the_result(
    screen: Tty, monkeypatch: pytest.MonkeyPatch, leaving: str
) -> None:
    result = talk(screen, monkeypatch, f"blue\n{leaving}", ["Which colour?", "It is ordered."])

    assert (result.content, result.metadata.status) == ("It is ordered.", StatusCode.USER_QUIT)
    assert screen.getvalue().count("clerk asks (q or x to leave): ") == 2
    assert screen.getvalue().endswith("end: USER_QUIT\n")


def test_who_interrupts_the_question_leaves_with_the_last_answer(screen: Tty, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(Tty):
        def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Interrupted())
    result = run(task(Speaker([["Which colour?"]]), interactive=True, single_round=False), screen)

    assert result is not None
    assert result.content == "Which colour?"


def test_who_leaves_before_anything_was_said_has_no_result(screen: Tty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Tty("q\n"))

    assert run(Task(ChatAgent(ChatAgentConfig(name="clerk", llm=None)), interactive=True), screen) is None


def test_who_leaves_within_a_sub_task_leaves_its_callers_with_the_last_answer(
    screen: Tty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Tty("\nq\n"))
    boss = task(Speaker([["Ask them."]]), name="boss", interactive=True, single_round=False)
    boss.add_sub_task(task(Speaker([["What size?"]]), name="helper", interactive=True, single_round=False))

    result = run(boss, screen)

    assert "helper asks (q or x to leave): " in screen.getvalue()
    assert result is not None
    assert (result.content, result.metadata.status) == ("What size?", StatusCode.USER_QUIT)


def test_a_result_that_a_human_types_stays_the_result(screen: Tty, monkeypatch: pytest.MonkeyPatch) -> None:
    assert talk(screen, monkeypatch, "DONE 42\n", ["How many?"]).content == "42"


def test_a_word_to_quit_with_of_a_callback_stays_the_result(screen: Tty, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = task(Speaker([["How many?"]]), interactive=True, single_round=False)
    asked.agent.callbacks.get_user_response = lambda: "q"

    result = run(asked, screen)

    assert result is not None
    assert result.content == "q"
