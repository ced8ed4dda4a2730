"""Programs whose agents know different tools by one name, or tools in tools: served as they run in a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, RecipientTool, Task, ToolMessage
from turnwise.record.store import Store


class Files(ToolMessage):
    request: str = "search"
    purpose: str = "To search files."
    query: str

    def handle(self) -> str:
        return f"files: {self.query}"


class Web(ToolMessage):
    request: str = "search"
    purpose: str = "To search the web."
    terms: list[str]

    def handle(self) -> str:
        return f"web: {', '.join(self.terms)}"


class Add(ToolMessage):
    request: str = "add"
    purpose: str = "To add."
    a: int

    def handle(self) -> str:
        return f"sum {self.a + 1}"


class Step(ToolMessage):
    request: str = "step"
    purpose: str = "To do something."
    task: str


class Plan(ToolMessage):
    request: str = "plan"
    purpose: str = "To plan."
    steps: list[Step]
    last: Step | int

    def handle(self) -> str:
        assert all(type(step) is Step for step in (*self.steps, self.last))
        return f"DONE {[step.task for step in self.steps]} {self.last.task}"  # type: ignore[union-attr]


class OtherStep(ToolMessage):
    """Has the name of the tool that stands in a plan."""

    request: str = "step"
    purpose: str = "To go somewhere."
    task: str
    place: str = ""


def team(
    name: str,
    replies: dict[str, str],
    tools: Sequence[type[ToolMessage]] = (),
    subs: Sequence[Task] = (),
    otherwise: str = "DONE no reply",
) -> Task:
    model = MockLMConfig(response_dict=replies, default_response=otherwise)
    agent = ChatAgent(ChatAgentConfig(name=name, llm=model))
    agent.enable_message(list(tools))
    task = Task(agent, interactive=False)
    task.add_sub_task(list(subs))
    return task


def two_searches() -> Task:
    web = team("Web", {"find it": '{"request": "search", "terms": ["a", "b"]}', "web: a, b": "DONE found"}, [Web])
    replies = {"Go": '{"request": "search", "query": "pay"}', "files: pay": "TO[Web]: find it", "found": "DONE both"}
    return team("Desk", replies, [Files], [web])


def two_recipient_tools() -> Task:
    b = team("B", {"hello": "DONE me"}, [RecipientTool.create(["A"])])
    # The answer to the question for the recipient, which it did not name.
    named = '{"request": "add_recipient", "intended_recipient": "B"}'
    return team("A", {"Go": "hello", "me": "DONE ok"}, [RecipientTool.create(["B"])], [b], otherwise=named)


def one_with_recipient() -> Task:
    b = team("B", {})
    b.agent.enable_message(Add, handle=False, require_recipient=True)
    return team("A", {"Go": '{"request": "add", "a": 1}', "sum 2": "DONE 2"}, [Add], [b])


def tools_in_a_tool() -> Task:
    dig, rest = (f'{{"request": "step", "task": "{name}"}}' for name in ("dig", "rest"))
    call = f'{{"request": "plan", "steps": [{dig}], "last": {rest}}}'
    return team("A", {"Go": call}, [Plan])


def tools_in_a_tool_whose_name_another_has() -> Task:
    task = tools_in_a_tool()
    task.add_sub_task(team("B", {}, [OtherStep]))
    return task


@pytest.mark.parametrize(
    ("make", "result"),
    [
        (two_searches, "both"),
        (two_recipient_tools, "ok"),
        (one_with_recipient, "2"),
        (tools_in_a_tool, "['dig'] rest"),
        (tools_in_a_tool_whose_name_another_has, "['dig'] rest"),
    ],
)
def test_each_agent_handles_its_own_tool(store: Store, make: Callable[[], Task], result: str) -> None:
    here = make().run("Go")
    app = App("tests")
    app.task(name="desk")(make)

    with Desk(store, app) as desk:
        run = desk.go_on(desk.submit("desk", "Go"))

    assert here is not None
    assert here.content == result
    assert run.error is None
    assert run.result is not None
    assert run.result["content"] == result
