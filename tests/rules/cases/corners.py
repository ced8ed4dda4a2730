"""Meetings of two rules: good calls beside bad ones, tools that steer beside each other."""

from __future__ import annotations

from typing import Any

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add
from tests.rules.words import call, calls, tool

from turnwise import ChatAgent, ChatDocument, FinalResultTool, RecipientTool, Task, ToolMessage

API: dict[str, Any] = {"use_functions_api": True, "use_tools": False}


class Verdict(FinalResultTool):
    """A final result that the agent knows by name."""

    request: str = "verdict"
    guilty: bool = False
    _allow_llm_use: bool = True


class Judge(ToolMessage):
    request: str = "judge"
    purpose: str = "To come to a verdict."

    def handle(self) -> Verdict:
        return Verdict(guilty=True)


class Answering(ChatAgent):
    """Answers calls with the results of two, and a remark."""

    def agent_response(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        if not isinstance(msg, ChatDocument) or not msg.oai_tool_calls:
            return None
        results = {"c1": "one", "c2": "two"}
        return self.create_agent_response("and mind the gap", oai_tool_id2result=results)


@scenario(
    "CALL-6",
    """
    Boss LLM -> User: may I? calls c1:other, c2:another, c3:add a=x
    Boss User: yes
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    answers=("yes",),
    sent={
        "Boss": """
        user: go
        assistant: may I? c1:other c2:another c3:add
        tool c1: yes
        tool c2: ERROR: there is no tool named `another`.
        tool c3: There was an error in your use of the tool `add`: / - field `a`: ...
        """
    },
)
def calls_that_nobody_answered_are_told_what_is_wrong_with_them(cast: Cast) -> Task:
    # The tool is known, but not handled here.
    agent = cast.agent(
        "Boss",
        calls(call("c1", "other"), call("c2", "another"), call("c3", "add", a="x"), text="TO[User]: may I?"),
        "DONE",
        **API,
    )
    agent.enable_message(Add, handle=False)
    return cast.task(agent)


@scenario(
    "CALL-4 CALL-6",
    """
    Boss LLM: calls c1:other, c2:other, c3:other
    Boss Agent: and mind the gap results c1=one, c2=two
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: c1:other c2:other c3:other
        tool c1: one
        tool c2: two
        tool c3: ERROR: there is no tool named `other`.
        user: and mind the gap
        """
    },
)
def what_answers_no_call_is_said_beside_the_results(cast: Cast) -> Task:
    called = calls(call("c1", "other"), call("c2", "other"), call("c3", "other"))
    return cast.task(cast.agent("Boss", called, "DONE", kind=Answering, **API))


@scenario(
    "ORCH-5",
    """
    Boss LLM: {judge}
    Boss Agent: + [verdict guilty=true]
    Boss = DONE
    => + [verdict guilty=true]
    """,
)
def a_final_result_is_attached_also_where_the_agent_knows_it(cast: Cast) -> Task:
    return cast.task("Boss", tool("judge"), tools=[Judge, Verdict])


@scenario(
    "HANDLE-12",
    """
    Boss LLM: {recipient_message ...=Bob, content=a} {recipient_message intended_recipient=Bob, content=b}
    Boss Agent: Result from recipient_message: ERROR: Use ONE tool at a time!...
    Boss LLM -> Bob: DONE
    Boss = DONE
    => (empty)
    """,
)
def messages_to_two_at_once_are_refused(cast: Cast) -> Task:
    both = [tool("recipient_message", intended_recipient="Bob", content=text) for text in "ab"]
    return cast.task("Boss", " ".join(both), "TO[Bob]: DONE", tools=[RecipientTool], subs=[cast.task("Bob", "hi")])
