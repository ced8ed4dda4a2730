"""Messages that a model takes back, and the messages that replace them."""

from __future__ import annotations

from collections.abc import Callable

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.words import tool

from turnwise import ChatDocument, RewindTool, Task, ToolMessage


class Whom(ToolMessage):
    request: str = "whom"
    purpose: str = "To say what the message answers."

    def handle(self, chat_doc: ChatDocument) -> str:
        return f"it answers {chat_doc.parent.content if chat_doc.parent is not None else 'nothing'}"


def _taking_back(n: int) -> Callable[[str], str]:
    """Puts a call of `whom` in place of message `n`, and ends the task with what that says."""
    call = tool("rewind_tool", n=n, content=tool("whom"))
    return lambda last: f"DONE {last}" if last.startswith("it answers") else call


@scenario(
    "ORCH-16 MSG-13",
    """
    Bob <- go
    Bob LLM: hm
    Bob nobody
    Bob = STALLED
    Boss nobody
    Bob <- go
    Bob LLM: {rewind_tool n=1, content={"request": "whom"}}
    Bob Agent (LLM): {whom}
    Bob Agent: it answers go
    Bob LLM: DONE it answers go
    Bob = DONE
    Boss Bob: it answers go
    Boss = FIXED_TURNS
    => it answers go
    """,
    turns=2,
)
def what_is_said_in_place_of_a_message_answers_what_that_did_after_a_call_without_result(cast: Cast) -> Task:
    return cast.task(
        "Boss", subs=[cast.task("Bob", "hm", _taking_back(1), tools=[RewindTool, Whom], max_stalled_steps=1)]
    )


@scenario(
    "ORCH-16 MSG-13",
    """
    Bob <- go
    Bob LLM refused: (empty)
    Bob nobody
    Bob = STALLED
    Boss nobody
    Bob <- go
    Bob LLM: {rewind_tool n=1, content={"request": "whom"}}
    Bob Agent (LLM): {whom}
    Bob Agent: it answers go
    Bob LLM: DONE it answers go
    Bob = DONE
    Boss Bob: it answers go
    Boss = FIXED_TURNS
    => it answers go
    """,
    turns=2,
)
def it_answers_what_a_refused_message_did(cast: Cast) -> Task:
    return cast.task(
        "Boss", subs=[cast.task("Bob", "", _taking_back(1), tools=[RewindTool, Whom], max_stalled_steps=1)]
    )


@scenario(
    "ORCH-16 MSG-13",
    """
    Boss LLM: DONE one
    Boss = DONE
    => one
    Boss LLM: DONE two
    Boss = DONE
    => two
    Boss LLM: {rewind_tool n=1, content={"request": "whom"}}
    Boss Agent (LLM): {whom}
    Boss Agent: it answers first
    Boss LLM: DONE it answers first
    Boss = DONE
    => it answers first
    """,
    says=("first", "second", "third"),
)
def it_answers_what_a_message_of_an_earlier_run_did(cast: Cast) -> Task:
    take_back = _taking_back(1)

    def second(last: str) -> str:
        return "DONE two" if last == "second" else take_back(last)

    return cast.task("Boss", "DONE one", second, take_back, tools=[RewindTool, Whom], restart=False)


@scenario(
    "ORCH-16 MSG-13",
    """
    Boss LLM: first
    Bob <- first
    Bob LLM: one
    ...
    Bob = DONE
    Boss Bob: one
    Boss LLM: second
    Bob <- second
    Bob LLM: {rewind_tool n=1, content=other}
    Bob Agent (LLM): other
    ...
    Bob = DONE
    Boss Bob: other
    Boss LLM: {rewind_tool n=2, content={"request": "whom"}}
    Boss Agent (LLM): {whom}
    Boss Agent: it answers one
    Boss = FIXED_TURNS
    => it answers one
    """,
    turns=7,
)
def it_answers_what_a_message_did_that_a_sub_task_has_taken_back(cast: Cast) -> Task:
    lines = ("one", tool("rewind_tool", n=1, content="other"))
    bob = cast.task("Bob", *lines, tools=[RewindTool], agent={"handle_llm_no_tool": "done"})
    return cast.task("Boss", "first", "second", _taking_back(2), tools=[RewindTool, Whom], subs=[bob])


@scenario(
    "ORCH-18",
    """
    Boss LLM -> Bob: first
    Bob <- first
    Bob LLM: DONE one
    Bob = DONE
    Boss Bob: one
    Boss LLM: DONE fine
    Boss = DONE
    => fine
    Boss LLM: {rewind_tool n=1, content=better}
    Boss Agent (LLM) -> Bob: better
    Bob <- better
    ...
    """,
    says=("go", "again"),
    sent={"Bob": "user: better"},
)
def sub_tasks_forget_what_they_heard_in_an_earlier_run(cast: Cast) -> Task:
    def third(last: str) -> str:
        return tool("rewind_tool", n=1, content="better") if last == "again" else "DONE"

    def second(last: str) -> str:
        return "DONE fine" if last == "one" else third(last)

    bob = cast.task("Bob", "DONE one", lambda _: "DONE two")
    return cast.task("Boss", "TO[Bob]: first", second, third, tools=[RewindTool], subs=[bob], restart=False)


@scenario(
    "ORCH-18",
    """
    Mia <- go
    Mia LLM -> Bob: first
    Bob <- first
    Bob LLM: DONE one
    Bob = DONE
    Mia Bob: one
    Mia LLM refused: (empty)
    Mia nobody
    Mia = STALLED
    Boss nobody
    Mia <- go
    Mia LLM: {rewind_tool n=1, content=better}
    Mia Agent (LLM) -> Bob: better
    Bob <- better
    Bob LLM: DONE one
    Bob = DONE
    Mia Bob: one
    Mia LLM refused: (empty)
    Mia nobody
    Mia = STALLED
    Boss nobody
    Boss = FIXED_TURNS
    => go
    """,
    turns=2,
    sent={"Bob": "user: better"},
)
def sub_tasks_forget_what_they_heard_in_a_call_without_result(cast: Cast) -> Task:
    bob = cast.task("Bob", "DONE one", lambda _: "DONE two")
    lines = ("TO[Bob]: first", "", tool("rewind_tool", n=1, content="better"))
    mia = cast.task("Mia", *lines, tools=[RewindTool], subs=[bob], max_stalled_steps=1)
    return cast.task("Boss", subs=[mia])
