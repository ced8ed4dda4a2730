"""Histories that are longer than the model's context."""

from __future__ import annotations

from typing import Any

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.words import call, calls, tool
from tests.support.own_models import OwnModel

from turnwise import LLMConfig, Task, ToolMessage

LONG = "word " * 200


class Tell(ToolMessage):
    """A result of some 200 words that begins with its number."""

    request: str = "tell"
    purpose: str = "To tell what is under <number>."
    number: int

    def handle(self) -> str:
        return f"number {self.number}: {LONG}"


class TellBriefly(Tell):
    """Of whose result little is kept."""

    _max_retained_tokens: int = 6


def _next(last: str) -> str:
    """Asks for the numbers from 1 to 3."""
    number = int(last.split(":")[0].removeprefix("number ")) if last.startswith("number") else 0
    return tool("tell", number=number + 1) if number < 3 else "DONE"


def _telling(cast: Cast, context: int | None, kind: type[ToolMessage] = Tell, **config: Any) -> Task:
    small = LLMConfig(type="mock", chat_context_length=context, max_output_tokens=60, min_output_tokens=30)
    return cast.task(cast.agent("Boss", _next, tools=[kind], llm=small, use_tools=False, **config))


WHOLE = """
...
Boss LLM: DONE
Boss = DONE
=> (empty)
"""


@scenario(
    "FIT-1 FIT-6",
    WHOLE,
    sent={
        "Boss": f"""
        user: go
        assistant: {{"request": "tell", "number": 1}}
        user: number 1: {LONG.strip()}
        assistant: {{"request": "tell", "number": 2}}
        user: number 2: {LONG.strip()}
        assistant: {{"request": "tell", "number": 3}}
        user: number 3: {LONG.strip()}
        """
    },
)
def what_fits_is_sent_as_it_is(cast: Cast) -> Task:
    return _telling(cast, None)


@scenario(
    "FIT-2 FIT-4",
    WHOLE,
    sent={
        "Boss": f"""
        user: go
        assistant: {{"request": "tell", "number": 1}}
        user: number 1: word ...[truncated...
        assistant: {{"request": "tell", "number": 2}}
        user: number 2: word ...[truncated...
        assistant: {{"request": "tell", "number": 3}}
        user: number 3: {LONG.strip()}
        """
    },
)
def old_messages_are_shortened(cast: Cast) -> Task:
    return _telling(cast, 860)


@scenario(
    "FIT-3 FIT-4",
    WHOLE,
    sent={
        "Boss": f"""
        user: number 3: {LONG.strip()}
        """
    },
)
def old_turns_may_be_left_out(cast: Cast) -> Task:
    return _telling(cast, 860, context_overflow_strategy="drop_turns")


@scenario(
    "FIT-5 FIT-4 ERR-3",
    """
    Boss LLM: {tell number=1}
    Boss Agent: number 1...
    => raises ContextOverflowError: ...
    """,
)
def what_can_not_be_made_to_fit_is_an_error(cast: Cast) -> Task:
    return _telling(cast, 500)


@scenario(
    "FIT-6 HIST-11",
    """
    ...
    Boss LLM: {length}
    Boss Agent: longest message whole: True
    Boss = FIXED_TURNS
    => longest message whole: True
    """,
    turns=8,
)
def stored_messages_stay_whole(cast: Cast) -> Task:
    def line(last: str) -> str:
        said = _next(last)
        return tool("length") if said == "DONE" else said

    small = LLMConfig(type="mock", chat_context_length=860, max_output_tokens=60, min_output_tokens=30)
    return cast.task(cast.agent("Boss", line, tools=[Tell, Length], llm=small, use_tools=False))


class Length(ToolMessage):
    request: str = "length"
    purpose: str = "To say whether the history is whole."

    def handle(self, agent: Any) -> str:
        texts = [message.content for message in agent.message_history if message.content.startswith("number")]
        return f"longest message whole: {all(len(text) > len(LONG) for text in texts) and len(texts) == 3}"


@scenario(
    "FIT-7",
    WHOLE,
    sent={
        "Boss": f"""
        user: go
        assistant: {{"request": "tell", "number": 1}}
        user: number 1: ...[truncated...
        assistant: {{"request": "tell", "number": 2}}
        user: number 2: ...[truncated...
        assistant: {{"request": "tell", "number": 3}}
        user: number 3: {LONG.strip()}
        """
    },
)
def little_is_kept_of_results_that_the_model_has_answered(cast: Cast) -> Task:
    return _telling(cast, None, TellBriefly)


@scenario(
    "FIT-7 HIST-9",
    """
    ...
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": f"""
        user: go
        assistant: c1:tell
        tool c1: number 1: ...[truncated...
        assistant: c2:tell c3:tell
        tool c2: number 2: {LONG.strip()}
        tool c3: number 3: {LONG.strip()}
        """
    },
)
def little_is_kept_of_the_results_of_calls(cast: Cast) -> Task:
    second = calls(call("c2", "tell", number=2), call("c3", "tell", number=3))
    api = {"use_functions_api": True, "use_tools": False}
    return cast.task("Boss", calls(call("c1", "tell", number=1)), second, "DONE", tools=[TellBriefly], agent=api)


def _limited(cast: Cast, context: int) -> Task:
    config = LLMConfig(chat_context_length=context, max_output_tokens=60, min_output_tokens=5)
    agent = cast.agent("Boss", "")
    # It says whether its answer has to be shorter than its settings allow.
    agent.llm = OwnModel(lambda asked: f"shorter: {5 <= asked.max_tokens < 60}", config)
    return cast.task(agent)


@scenario("FIT-1", "Boss LLM: shorter: True\nBoss = FIXED_TURNS\n=> shorter: True", turns=1)
def where_little_is_left_the_answer_is_asked_to_be_shorter(cast: Cast) -> Task:
    return _limited(cast, 345)


@scenario("FIT-1", "Boss LLM: shorter: False\nBoss = FIXED_TURNS\n=> shorter: False", turns=1)
def where_there_is_room_the_answer_may_be_as_long_as_allowed(cast: Cast) -> Task:
    return _limited(cast, 1000)
