"""The application of the scenarios; every process of a test loads it as `tests.e2e.application:app`."""

from __future__ import annotations

from typing import Any

from tests.e2e.agents import (
    Add,
    Calculator,
    Counter,
    Decide,
    Explode,
    Haul,
    Note,
    Pay,
    ReadPage,
    Report,
    Spell,
    config,
)

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    DonePassTool,
    ForwardTool,
    RetryPolicy,
    SendTool,
    StatusCode,
    Task,
    TaskConfig,
    ToolMessage,
)

app = App("scenarios")


def _calculating(role: str, **more: Any) -> Calculator:
    agent = Calculator(config(role, **more))
    agent.enable_message([Add, Spell])
    return agent


def _talking(role: str, *tools: type[ToolMessage], name: str = "") -> ChatAgent:
    agent = ChatAgent(config(role, name))
    agent.enable_message(list(tools))
    return agent


@app.task
def tool_loop() -> Task:
    return Task(_calculating("calculator"), interactive=False)


@app.task
def api_loop() -> Task:
    return Task(_calculating("caller", use_tools=False, use_functions_api=True), interactive=False)


@app.task
def delegation() -> Task:
    """A task with a sub-task, which has one of its own."""
    lead = Task(_talking("lead"), interactive=False)
    researcher = Task(_talking("researcher"), interactive=False)
    researcher.add_sub_task(Task(_talking("reader", ReadPage), interactive=False))
    lead.add_sub_task(researcher)
    return lead


@app.task
def routing() -> Task:
    dispatcher = Task(_talking("dispatcher", SendTool, ForwardTool), interactive=False)
    dispatcher.add_sub_task([Task(_talking(role), interactive=False) for role in ("alice", "bob")])
    return dispatcher


@app.task
def order() -> Task:
    """Asks a human by name."""
    return Task(_talking("asker"), interactive=False)


@app.task
def talk() -> Task:
    """Asks its human after each answer; only they end it."""
    return Task(_talking("talker"), interactive=True)


@app.task
def slow() -> Task:
    return Task(_calculating("slowpoke"), interactive=False)


@app.task
def endless() -> Task:
    return Task(_talking("dreamer"), interactive=False)


@app.task
def patient() -> Task:
    policy = RetryPolicy(tries=3, first_wait=2, factor=1)
    return Task(ChatAgent(config("patient", retry=policy)), interactive=False)


@app.task
def endless_below() -> Task:
    root = Task(ChatAgent(ChatAgentConfig(name="Nobody", llm=None)), interactive=False)
    root.add_sub_task(Task(_talking("dreamer"), interactive=False))
    return root


@app.task
def notes() -> Task:
    agent = Counter(config("counter"))
    agent.enable_message([Note, Report])
    return Task(agent, interactive=False)


@app.task
def passing() -> Task:
    """What the sub-task hands back is a message of earlier turns, looked up by whoever handles the tool."""
    front = Task(_talking("front", ForwardTool), interactive=False)
    front.add_sub_task(Task(_talking("back", DonePassTool), interactive=False))
    return front


@app.task
def final() -> Task:
    boss = Task(_talking("boss"), interactive=False)
    boss.add_sub_task(Task(_talking("decider", Decide), interactive=False))
    return boss


@app.task
def unsure() -> Task:
    return Task(_talking("unsure"), interactive=False, allow_null_result=True)


@app.task
def silent() -> Task:
    """Nobody here answers anything."""
    return Task(ChatAgent(ChatAgentConfig(name="Nobody", llm=None)), interactive=False, max_stalled_steps=3)


@app.task
def clumsy() -> Task:
    return Task(_talking("clumsy", Explode), interactive=False)


@app.task
def circles() -> Task:
    quick = TaskConfig(inf_loop_cycle_len=2, inf_loop_wait_factor=2)
    return Task(_calculating("circler"), interactive=False, config=quick)


@app.task
def guarded() -> Task:
    agent = _calculating("guard")
    agent.enable_message(Pay, use=False, handle=True)
    return Task(agent, interactive=False)


class _Sated(Task):
    """Ends at a word of its own."""

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        current = result or self.pending_message
        if current is not None and "enough" in current.content:
            return True, StatusCode.DONE
        return super().done(result, r)


@app.task
def sated() -> Task:
    root = _Sated(_talking("enough"), interactive=False)
    root.add_sub_task(Task(_talking("bob"), interactive=False))
    return root


@app.task
def heavy() -> Task:
    return Task(_talking("hauler", Haul), interactive=False)


@app.task
def odd_text() -> Task:
    return Task(_calculating("oddball"), interactive=False)


@app.task
def diary() -> Task:
    """Goes on in the next run where it was: its agents, what they keep in their state, and its sub-task's."""
    agent = Counter(config("diarist"))
    agent.enable_message([Note, Report])
    root = Task(agent, interactive=False, restart=False)
    root.add_sub_task(Task(_talking("bob"), interactive=False))
    return root
