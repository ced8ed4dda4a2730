"""Tools in a message: where they are found, and what is said of bad ones."""

from __future__ import annotations

from typing import Any

from tests.rules.cast import Cast, Line
from tests.rules.scenario import scenario
from tests.rules.tools import Add, Say
from tests.rules.words import call, calls, function, tool

from turnwise import ChatDocMetaData, ChatDocument, Entity, Task, ToolMessage


class Found(ToolMessage):
    request: str = "found"
    purpose: str = "To be found."
    word: str
    number: int = 0

    def handle(self) -> str:
        return f"found {self.word} {self.number}"


def _saying(cast: Cast, *lines: Line, **more: Any) -> Task:
    return cast.task("Boss", *lines, tools=[Found, Say], **more)


@scenario(
    "FIND-1",
    """
    Boss Agent: found attached 0
    Boss = FIXED_TURNS
    => found attached 0
    """,
    says=[ChatDocument(content=tool("say", text="in the text"), tool_messages=[Found(word="attached")])],
    turns=1,
)
def attached_tools_hide_those_in_the_text(cast: Cast) -> Task:
    return _saying(cast, "never asked")


@scenario(
    "FIND-2",
    """
    Boss LLM: First {found word=one}, then {found word=two}.
    Boss Agent: Result from found: found one 0 / Result from found: found two 0
    Boss = FIXED_TURNS
    => ...
    """,
    turns=2,
)
def each_object_at_the_top_level_is_a_tool(cast: Cast) -> Task:
    return _saying(cast, f"First {tool('found', word='one')}, then {tool('found', word='two')}.")


@scenario(
    "FIND-2 FIND-9",
    """
    Boss LLM: {"note": {"request": "found", "word": "inner"}}
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def an_object_within_an_object_is_no_tool(cast: Cast) -> Task:
    return _saying(cast, '{"note": {"request": "found", "word": "inner"}}', max_stalled_steps=1)


@scenario(
    "FIND-3",
    """
    Boss LLM: {"type": "object", "properties": {"request": "found", "word": "wrapped"}} + [found ...]
    Boss Agent: found wrapped 0
    Boss = FIXED_TURNS
    => found wrapped 0
    """,
    turns=2,
)
def fields_wrapped_in_a_schema_are_read(cast: Cast) -> Task:
    return _saying(cast, '{"type": "object", "properties": {"request": "found", "word": "wrapped"}}')


@scenario(
    "FIND-4 CALL-10",
    """
    Boss LLM: calls found word=old
    Boss Agent: found old 0
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant:
        function: found old 0
        """
    },
)
def the_deprecated_call_is_read_and_answered(cast: Cast) -> Task:
    return _saying(cast, function("found", word="old"), "DONE", agent={"use_functions_api": True})


@scenario(
    "FIND-4 CALL-9",
    """
    Boss LLM: {say text=in the text} calls c1:found word=called
    Boss Agent: found called 0
    Boss = FIXED_TURNS
    => found called 0
    """,
    turns=2,
)
def a_call_hides_the_tool_in_the_text(cast: Cast) -> Task:
    line = calls(call("c1", "found", word="called"), text=tool("say", text="in the text"))
    return _saying(cast, line, agent={"use_functions_api": True})


@scenario(
    "FIND-5",
    """
    Boss LLM: {"word": "nameless"} + [found word=nameless, number=0]
    Boss Agent: found nameless 0
    Boss LLM: {"word": "nameless", "colour": "red"}
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def fields_alone_make_a_tool_if_none_of_them_is_strange(cast: Cast) -> Task:
    return _saying(cast, '{"word": "nameless"}', '{"word": "nameless", "colour": "red"}', max_stalled_steps=1)


class Lost(Found):
    request: str = "lost"


@scenario(
    "FIND-5",
    """
    Boss LLM: {"word": "either"}
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def fields_that_fit_two_handled_tools_make_none(cast: Cast) -> Task:
    return cast.task("Boss", '{"word": "either"}', tools=[Found, Lost], max_stalled_steps=1)


@scenario(
    "FIND-5",
    """
    Boss LLM: {"word": "one"} + [found word=one, number=0]
    Boss Agent: found one 0
    Boss = FIXED_TURNS
    => found one 0
    """,
    turns=2,
)
def only_handled_tools_are_guessed(cast: Cast) -> Task:
    agent = cast.agent("Boss", '{"word": "one"}', tools=[Found])
    agent.enable_message(Lost, handle=False)
    return cast.task(agent)


@scenario(
    "FIND-6",
    """
    Boss LLM: {found word=quoted, number=3}
    Boss Agent: found quoted 3
    Boss LLM: {found word=literal, number=true}
    Boss Agent: found literal 1
    Boss = FIXED_TURNS
    => found literal 1
    """,
    turns=4,
)
def nearly_json_is_repaired(cast: Cast) -> Task:
    first = "{'request': 'found', 'word': 'quoted', 'number': 3,}"
    return _saying(cast, first, '{"request": "found", "word": "literal", "number": True}')


@scenario(
    "FIND-7",
    """
    Boss LLM: {"request": "found", "word": "cut
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def an_object_that_is_cut_off_is_no_tool(cast: Cast) -> Task:
    return _saying(cast, '{"request": "found", "word": "cut', max_stalled_steps=1)


@scenario(
    "FIND-8",
    """
    Boss LLM: {found number=many}
    Boss Agent: ...`found`...`word`...`number`...
    Boss LLM: {found word=mended}
    Boss Agent: found mended 0
    Boss = FIXED_TURNS
    => found mended 0
    """,
    turns=4,
)
def bad_fields_are_each_named_and_the_tool_is_asked_for_again(cast: Cast) -> Task:
    return _saying(cast, tool("found", number="many"), tool("found", word="mended"))


@scenario(
    "FIND-8 CALL-6",
    """
    Boss LLM: calls c1:found number=many
    Boss Agent: ...`found`...`word`...
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: c1:found
        tool c1: ...`found`...
        """
    },
)
def a_call_with_bad_fields_is_answered_by_what_is_wrong(cast: Cast) -> Task:
    return _saying(cast, calls(call("c1", "found", number="many")), "DONE", agent={"use_functions_api": True})


@scenario(
    "FIND-8",
    """
    Boss LLM: {found number=many}
    Bob <- {found number=many}
    Bob Agent: ...`found`...
    Bob = FIXED_TURNS
    Boss Bob: ...`found`...
    Boss = FIXED_TURNS
    => ...
    """,
    turns=2,
)
def bad_fields_are_explained_by_whoever_knows_the_tool(cast: Cast) -> Task:
    bob = cast.task("Bob", "never asked", tools=[Found], single_round=True)
    return cast.task("Boss", tool("found", number="many"), subs=[bob])


@scenario(
    "FIND-9",
    """
    Boss LLM: {lost word=x}
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def an_unknown_tool_has_no_answer(cast: Cast) -> Task:
    return _saying(cast, tool("lost", word="x"), max_stalled_steps=1)


@scenario(
    "FIND-9 CALL-6",
    """
    Boss LLM: calls c1:found word=x, c2:lost
    Boss Agent: results c1=found x 0, c2=...`lost`...
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: c1:found c2:lost
        tool c1: found x 0
        tool c2: ...`lost`...
        """
    },
)
def an_unknown_call_among_others_is_told_so(cast: Cast) -> Task:
    line = calls(call("c1", "found", word="x"), call("c2", "lost"))
    return _saying(cast, line, "DONE", agent={"use_functions_api": True})


@scenario(
    "TRUST-14 FIND-8",
    """
    Boss LLM: DONE what is that?
    Boss = DONE
    => what is that?
    """,
    says=[tool("found", number="many")],
)
def bad_fields_typed_by_a_human_are_plain_text(cast: Cast) -> Task:
    return _saying(cast, "DONE what is that?")


@scenario(
    "FIND-1 TASK-1",
    """
    Boss Agent: 3
    Boss = FIXED_TURNS
    => 3
    """,
    says=[ChatDocument(content="please", tool_messages=[Add(a=1, b=2)], metadata=ChatDocMetaData(sender=Entity.LLM))],
    turns=1,
)
def a_document_may_bring_tools(cast: Cast) -> Task:
    return cast.task("Boss", "never asked", tools=[Add])
