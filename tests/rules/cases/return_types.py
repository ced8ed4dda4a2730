"""The results of tasks as values of a type."""

from __future__ import annotations

from enum import Enum
from typing import Any

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add, Given, Say, Value
from tests.rules.words import tool

from turnwise import (
    AgentDoneTool,
    ResultTool,
    Task,
    TaskConfig,
    ToolMessage,
)


def _valued(cast: Cast, line: str, **more: Any) -> Task:
    return cast.task("Boss", line, tools=[Value, Add, Kept], **more)


class Kept(ToolMessage):
    """Ends the task with a result tool of several fields."""

    request: str = "kept"
    purpose: str = "To keep <number> and <word>."
    number: int = 0
    word: str = ""

    def handle(self) -> ResultTool:
        return ResultTool.model_validate({"flag": True, "number": self.number, "word": self.word})


@scenario("TYPE-1", "...\n=> str 'DONE 12 '", return_type=str)
def a_text_is_given_as_it_is(cast: Cast) -> Task:
    return _valued(cast, "DONE 12 ", config=TaskConfig(recognize_string_signals=False), single_round=True)


@scenario("TYPE-1", "...\n=> nothing", return_type=str)
def a_blank_text_is_no_value(cast: Cast) -> Task:
    return _valued(cast, "DONE")


@scenario("TYPE-1", "...\n=> str 'five'", return_type=str)
def beside_a_blank_text_a_tools_field_counts(cast: Cast) -> Task:
    return _valued(cast, tool("kept", number=5, word="five"))


@scenario("TYPE-2", "...\n=> dict {'a': 1}", return_type=dict)
def a_handlers_value_is_given_as_it_is(cast: Cast) -> Task:
    return _valued(cast, tool("value", it={"a": 1}))


@scenario("TYPE-2", "...\n=> list ['x', 2]", return_type=list[Any])
def a_handlers_list_fits_a_type_of_lists(cast: Cast) -> Task:
    return _valued(cast, tool("value", it=["x", 2]))


@scenario("TYPE-2 ROUTE-4", "...\n=> str 'hello'", return_type=Any, turns=1)
def the_value_of_a_text_that_is_sent_on_is_what_is_sent(cast: Cast) -> Task:
    return _valued(cast, "you: __SEND__:Bob hello", subs=[cast.task("Bob", "never asked")])


@scenario("TYPE-2 ROUTE-4", "...\n=> str 'hello'", return_type=Any, turns=2, answers=("__SEND__:LLM hello",))
def the_value_of_what_a_human_sends_on_is_what_is_sent(cast: Cast) -> Task:
    return _valued(cast, "what is it?", interactive=True)


@scenario("TYPE-2", "...\nBoss Agent: str\n...", turns=4, answers=("again",))
def a_humans_text_is_a_value_for_handlers_as_well(cast: Cast) -> Task:
    return cast.task("Boss", "what is it?", tool("given"), tools=[Given], interactive=True)


@scenario("TYPE-4", "...\n=> Add Add(request='add', ... a=4, b=1)", return_type=Add)
def the_first_tool_of_a_class_is_given(cast: Cast) -> Task:
    line = f"{tool('value')} {tool('add', a=4)} {tool('add', a=5)}"
    return _valued(cast, line, config=TaskConfig(done_if_tool=True))


@scenario("TYPE-4 TYPE-7", "...\n=> nothing", return_type=Say)
def no_tool_of_the_class_gives_nothing(cast: Cast) -> Task:
    return _valued(cast, tool("add", a=4), config=TaskConfig(done_if_tool=True))


@scenario("TYPE-5", "...\n=> int 12", return_type=int)
def a_whole_number_is_read_from_the_text(cast: Cast) -> Task:
    return _valued(cast, "DONE 12")


@scenario("TYPE-5", "...\n=> float 1.5", return_type=float)
def a_number_is_read_from_the_text(cast: Cast) -> Task:
    return _valued(cast, "1.5 DONE")


@scenario("TYPE-5", "...\n=> bool False", return_type=bool)
def a_flag_is_read_from_the_text(cast: Cast) -> Task:
    return _valued(cast, "DONE False")


@scenario("TYPE-5", "...\n=> bool False", return_type=bool)
def a_text_that_says_neither_yes_nor_no_is_no(cast: Cast) -> Task:
    return _valued(cast, "DONE perhaps")


@scenario("TYPE-5", "...\n=> list [1, 2]", return_type=list[int])
def a_list_is_read_from_the_text(cast: Cast) -> Task:
    return _valued(cast, "DONE [1, 2]")


@scenario("TYPE-5 TYPE-7", "...\n=> nothing", return_type=list[int])
def a_list_of_another_type_gives_nothing(cast: Cast) -> Task:
    return _valued(cast, 'DONE ["a"]')


@scenario("TYPE-3", "...\n=> list []", return_type=list[Add])
def no_tool_of_the_class_gives_an_empty_list(cast: Cast) -> Task:
    return _valued(cast, "DONE")


@scenario("TYPE-5 TYPE-7", "...\n=> int 12", return_type=int | None)
def a_type_that_may_be_none_is_the_type(cast: Cast) -> Task:
    return _valued(cast, "DONE 12")


@scenario("TYPE-5 TYPE-7", "...\n=> nothing", return_type=int)
def a_text_that_is_no_number_gives_nothing(cast: Cast) -> Task:
    return _valued(cast, "DONE twelve")


@scenario("TYPE-6", "...\n=> int 7", return_type=int)
def a_field_of_a_tool_is_given_and_a_flag_is_no_number(cast: Cast) -> Task:
    return _valued(cast, tool("kept", number=7, word="w"))


class Mood(str, Enum):
    GLAD = "glad"


class Feel(ToolMessage):
    """Ends the task with an enum, as the handler's value or in a field of a result tool."""

    request: str = "feel"
    purpose: str = "To feel <mood>, kept as a <field> or not."
    mood: Mood
    field: bool = False

    def handle(self) -> ToolMessage:
        if self.field:
            return ResultTool.model_validate({"mood": self.mood})
        return AgentDoneTool(content=self.mood)


@scenario("TYPE-6", "...\n=> Mood <Mood.GLAD: 'glad'>", return_type=Mood)
def an_enum_in_a_field_of_a_tool_is_given(cast: Cast) -> Task:
    return cast.task("Boss", tool("feel", mood="glad", field=True), tools=[Feel])


class Measured(ToolMessage):
    """Ends the task with two lists and a dict in fields of a result tool."""

    request: str = "measured"
    purpose: str = "To report what was measured."

    def handle(self) -> ResultTool:
        return ResultTool(names=["a"], numbers=[1, 2], by_name={"a": 1})


@scenario("TYPE-6", "...\n=> list [1, 2]", return_type=list[int])
def a_list_in_a_field_of_a_tool_has_the_wanted_items(cast: Cast) -> Task:
    return cast.task("Boss", tool("measured"), tools=[Measured])


@scenario("TYPE-6 TYPE-7", "...\n=> nothing", return_type=dict[str, str])
def a_dict_of_another_type_in_a_field_of_a_tool_gives_nothing(cast: Cast) -> Task:
    return cast.task("Boss", tool("measured"), tools=[Measured])


@scenario("TYPE-2", "...\n=> Mood <Mood.GLAD: 'glad'>", return_type=Mood)
def an_enum_of_a_handler_is_given_as_it_is(cast: Cast) -> Task:
    return cast.task("Boss", tool("feel", mood="glad"), tools=[Feel])


@scenario("TYPE-8", "...\n=> int 12")
def a_task_may_have_a_return_type_of_its_own(cast: Cast) -> Task:
    return _valued(cast, "DONE 12", default_return_type=int)


@scenario("TYPE-8", "...\n=> str '12'", return_type=str)
def the_type_given_to_run_comes_first(cast: Cast) -> Task:
    return _valued(cast, "DONE 12", default_return_type=int)


@scenario("TYPE-7 RESULT-1", "...\n=> nothing", return_type=str)
def a_run_without_a_result_gives_nothing(cast: Cast) -> Task:
    return _valued(cast, "words", max_stalled_steps=1)
