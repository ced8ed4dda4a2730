"""What `erase_substeps` leaves of a conversation."""

from __future__ import annotations

from typing import Any

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add
from tests.rules.words import call, calls, tool

from turnwise import ChatAgent, DoneTool, LLMConfig, LLMResponse, Task, ToolMessage

API: dict[str, Any] = {"use_functions_api": True, "use_tools": False}


@scenario(
    "HIST-5",
    """
    Boss LLM: first
    Bob <- first
    Bob LLM: {add a=1}
    Bob Agent: 2
    Bob LLM: DONE two
    Bob = DONE
    Boss Bob: two
    Boss LLM: second
    Bob <- second
    Bob LLM: {add a=1}
    Bob Agent: 2
    Bob LLM: DONE two
    Bob = DONE
    Boss Bob: two
    Boss = FIXED_TURNS
    => two
    """,
    turns=4,
    sent={
        "Bob": """
        user: first
        assistant: DONE two
        user: second
        assistant: {"request": "add", "a": 1}
        user: 2
        """
    },
)
def erase_substeps_leaves_the_question_and_the_answer(cast: Cast) -> Task:
    def line(last: str) -> str:
        return "DONE two" if last == "2" else tool("add", a=1)

    return cast.task("Boss", "first", "second", subs=[cast.task("Bob", line, tools=[Add], erase_substeps=True)])


@scenario(
    "HIST-5",
    """
    ...
    Boss Bob: from Cora
    Boss = FIXED_TURNS
    => from Cora
    """,
    turns=4,
    sent={"Cora": "user: ask"},
)
def erase_substeps_clears_the_sub_tasks_below(cast: Cast) -> Task:
    cora = cast.task("Cora", "from Cora", single_round=True)
    bob = cast.task("Bob", lambda _: "ask", subs=[cora], erase_substeps=True, single_round=True, llm_delegate=True)
    return cast.task("Boss", "first", "second", subs=[bob])


class Greet(ToolMessage):
    """Sets the user message that the agent's next conversation begins with."""

    request: str = "greet"
    purpose: str = "To greet."

    def handle(self, agent: ChatAgent) -> str:
        agent.set_user_message("Welcome.")
        return "greeted"


@scenario(
    "HIST-5 HIST-6",
    """
    Boss LLM: first
    Bob <- first
    Bob LLM: {greet}
    Bob Agent: greeted
    Bob LLM: DONE fine
    Bob = DONE
    Boss Bob: fine
    Boss LLM: second
    Bob <- second
    Bob LLM: {greet}
    Bob Agent: greeted
    Bob LLM: DONE fine
    Bob = DONE
    Boss Bob: fine
    Boss = FIXED_TURNS
    => fine
    """,
    turns=4,
    sent={
        "Bob": """
        user: first
        assistant: DONE fine
        user: second
        assistant: {"request": "greet"}
        user: greeted
        """
    },
)
def erase_substeps_keeps_the_first_message_also_where_a_user_message_was_set(cast: Cast) -> Task:
    def line(last: str) -> str:
        return "DONE fine" if last == "greeted" else tool("greet")

    return cast.task("Boss", "first", "second", subs=[cast.task("Bob", line, tools=[Greet], erase_substeps=True)])


@scenario(
    "HIST-5 CALL-3",
    """
    Boss LLM: calls c1:add a=1, c2:done_tool content=one
    Boss = OK
    => one + [add a=1, b=1]
    Boss LLM: calls c3:add a=2
    Boss Agent: 3
    Boss LLM: DONE two
    Boss = DONE
    => two
    Boss LLM: DONE three
    Boss = DONE
    => three
    """,
    says=("first", "second", "third"),
    sent={
        "Boss": """
        user: first
        assistant: c1:add c2:done_tool
        tool c1: second
        tool c2:
        assistant: DONE two
        user: third
        """
    },
)
def erase_substeps_keeps_all_results_of_the_calls_that_were_open(cast: Cast) -> Task:
    def line(last: str) -> str | LLMResponse:
        if last == "first":
            return calls(call("c1", "add", a=1), call("c2", "done_tool", content="one"))
        if last == "":  # the result of the second call
            return calls(call("c3", "add", a=2))
        return "DONE two" if last == "3" else "DONE three"

    return cast.task("Boss", line, tools=[Add, DoneTool], agent=API, restart=False, erase_substeps=True)


@scenario(
    "HIST-5 LIMIT-10",
    """
    Boss LLM: calls c1:add a=1, c2:add a=2
    Boss Agent: results c1=2, c2=3
    Boss = MAX_TOKENS
    => ...
    Boss LLM: DONE after all
    Boss = DONE
    => after all
    """,
    says=("first", "second"),
    max_tokens=30,
    sent={
        "Boss": """
        user: first
        assistant: c1:add c2:add
        tool c1: 2
        tool c2: 3
        user: second
        """
    },
)
def erase_substeps_keeps_the_calls_of_the_results_at_the_end(cast: Cast) -> Task:
    def line(last: str) -> str | LLMResponse:
        return "DONE after all" if last == "second" else calls(call("c1", "add", a=1), call("c2", "add", a=2))

    llm = LLMConfig(type="mock", max_output_tokens=20, min_output_tokens=10)
    return cast.task("Boss", line, tools=[Add], agent={**API, "llm": llm}, restart=False, erase_substeps=True)
