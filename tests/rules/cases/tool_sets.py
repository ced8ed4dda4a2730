"""The tools of an agent: known, usable, handled, addressed, told to the model."""

from __future__ import annotations

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add, Launch, Say
from tests.rules.words import call, calls, tool
from tests.support.own_models import Asked, OwnModel

from turnwise import ChatAgent, SendTool, Task, ToolMessage


class Usable(ToolMessage):
    request: str = "usable"
    purpose: str = "To say what the model may use."

    def handle(self, agent: ChatAgent) -> str:
        return ", ".join(sorted(agent.toolbox.usable))


@scenario(
    "TOOL-1 TOOL-4",
    """
    Boss LLM: {add a=1}
    Boss nobody
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def a_tool_that_is_only_used_is_not_handled(cast: Cast) -> Task:
    agent = cast.agent("Boss", tool("add", a=1))
    agent.enable_message(Add, handle=False)
    return cast.task(agent, max_stalled_steps=2)


@scenario(
    "TOOL-4 WHO-5",
    """
    Boss LLM: DONE I cannot add
    Boss = DONE
    => I cannot add
    """,
    says=[tool("add", a=1)],
)
def a_known_tool_that_is_not_handled_is_text_for_the_model(cast: Cast) -> Task:
    agent = cast.agent("Boss", "DONE I cannot add")
    agent.enable_message(Add, handle=False)
    return cast.task(agent)


@scenario(
    "TOOL-2",
    """
    Boss LLM: {usable}
    Boss Agent: add, usable
    Boss = FIXED_TURNS
    => add, usable
    """,
    turns=2,
)
def a_tool_for_handlers_is_usable_by_no_model(cast: Cast) -> Task:
    return cast.task("Boss", tool("usable"), tools=[Usable, Add, Launch])


class Change(ToolMessage):
    """Changes the tools of the agent that handles it."""

    request: str = "change"
    purpose: str = "To <what> a tool."
    what: str

    def handle(self, agent: ChatAgent) -> str:
        match self.what:
            case "enable":
                agent.enable_message(Add)
            case "unuse":
                agent.disable_message_use(Add)
            case "unhandle":
                agent.disable_message_handling(Add)
            case "only":
                agent.disable_message_use_except(Add)
            case "handle":
                agent.enable_message_handling(Add)
        usable, unhandled = sorted(agent.toolbox.usable), sorted(agent.unhandled_tools() & {"add"})
        return f"usable {', '.join(usable)}; unhandled {', '.join(unhandled) or 'none'}"


@scenario(
    "TOOL-3",
    """
    Boss LLM: {change what=unuse}
    Boss Agent: usable change; unhandled none
    Boss LLM: {change what=unhandle}
    Boss Agent: usable change; unhandled add
    Boss LLM: {add a=1}
    Boss = FIXED_TURNS
    => {add a=1}
    """,
    turns=5,
)
def tools_can_be_taken_away_during_a_run(cast: Cast) -> Task:
    lines = tool("change", what="unuse"), tool("change", what="unhandle"), tool("add", a=1)
    return cast.task("Boss", *lines, tools=[Change, Add])


@scenario(
    "TOOL-3",
    """
    Boss LLM: {change what=only}
    Boss Agent: usable add; unhandled none
    Boss LLM: {change what=enable}
    Boss Agent: usable add; unhandled none
    Boss = FIXED_TURNS
    => usable add; unhandled none
    """,
    turns=4,
)
def all_but_one_can_be_taken_from_the_model(cast: Cast) -> Task:
    return cast.task("Boss", tool("change", what="only"), tool("change", what="enable"), tools=[Change, Add, Say])


@scenario(
    "TOOL-6",
    """
    Boss LLM: {add a=1}
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def a_tool_that_is_not_enabled_yet_is_unknown(cast: Cast) -> Task:
    return cast.task("Boss", tool("add", a=1), tools=[Change], max_stalled_steps=1)


class _Told(ChatAgent):
    """Its model says whether the system message speaks of the tool `add`."""

    def say_whether(self, _: ToolMessage) -> str:
        return f"told of add: {'TOOL: add' in self.system_and_tools_message().content}"


class SayWhether(ToolMessage):
    request: str = "say_whether"
    purpose: str = "To say whether the model is told of the tool that adds."


@scenario(
    "TOOL-6 TOOL-7 HIST-7",
    """
    Boss LLM: {say_whether}
    Boss Agent: told of add: False
    Boss LLM: {change what=enable}
    Boss Agent: usable add, change, say_whether; unhandled none
    Boss LLM: {say_whether}
    Boss Agent: told of add: True
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
)
def a_tool_enabled_during_a_run_stays_and_is_told_to_the_model(cast: Cast) -> Task:
    lines = tool("say_whether"), tool("change", what="enable"), tool("say_whether"), tool("add", a=1), "DONE"
    agent = cast.agent("Boss", *lines, kind=_Told, tools=[Change, SayWhether])
    # Known from the start, so that every process can read it.
    agent.enable_message(Add, use=False, handle=False)
    return cast.task(agent)


@scenario(
    "TOOL-7",
    """
    Boss LLM: {say_whether}
    Boss Agent: told of add: False
    Boss = FIXED_TURNS
    => told of add: False
    """,
    turns=2,
)
def a_model_that_uses_the_api_need_not_be_told_in_words(cast: Cast) -> Task:
    agent = cast.agent(
        "Boss",
        tool("say_whether"),
        kind=_Told,
        tools=[SayWhether, Add],
        use_tools=False,
        use_functions_api=True,
    )
    return cast.task(agent)


def _telling(asked: Asked) -> str:
    """Say what the API was told of its tools."""
    if asked.tools is None:
        return "nothing"
    told = [f"{spec.name}({', '.join(spec.parameters['properties'])})" for spec in asked.tools.tools]
    return f"{asked.tools.choice}: {', '.join(told)}"


def _told(cast: Cast, *, use_functions_api: bool = True, **enabled: bool) -> Task:
    agent = cast.agent("Boss", "", tools=[Say], use_functions_api=use_functions_api)
    agent.llm = OwnModel(_telling)
    agent.enable_message(Add, **enabled)
    return cast.task(agent)


@scenario(
    "TOOL-8",
    """
    Boss LLM: add: add(a, b), say(text)
    Boss = FIXED_TURNS
    => add: add(a, b), say(text)
    """,
    turns=1,
)
def a_forced_tool_is_demanded_of_the_api(cast: Cast) -> Task:
    return _told(cast, force=True)


@scenario(
    "TOOL-8",
    """
    Boss LLM: auto: add(a, b), say(text)
    Boss = FIXED_TURNS
    => auto: add(a, b), say(text)
    """,
    turns=1,
)
def a_tool_is_no_longer_demanded_once_it_is_enabled_without_force(cast: Cast) -> Task:
    task = _told(cast, force=True)
    task.agent.enable_message(Add, force=False)
    return task


@scenario(
    "TOOL-9",
    """
    Boss LLM: auto: add(a), say(text)
    Boss = FIXED_TURNS
    => auto: add(a), say(text)
    """,
    turns=1,
)
def a_model_need_not_be_told_of_fields_with_defaults(cast: Cast) -> Task:
    return _told(cast, include_defaults=False)


@scenario(
    "TOOL-7",
    """
    Boss LLM: nothing
    Boss = FIXED_TURNS
    => nothing
    """,
    turns=1,
)
def the_api_is_told_of_no_tool_without_use_functions_api(cast: Cast) -> Task:
    return _told(cast, use_functions_api=False)


@scenario(
    "TOOL-5",
    """
    Boss LLM -> Bob: {add a=1, recipient=Bob}
    Bob <- {add a=1, recipient=Bob}
    Bob Agent: 2
    Bob = FIXED_TURNS
    Boss Bob: 2
    Boss = FIXED_TURNS
    => 2
    """,
    turns=2,
)
def a_tool_for_another_agent_is_left_to_him(cast: Cast) -> Task:
    bob, boss = cast.agent("Bob"), cast.agent("Boss", tool("add", a=1, recipient="Bob"))
    for agent in (bob, boss):
        agent.enable_message(Add, require_recipient=True)
    return cast.task(boss, subs=[cast.task(bob, single_round=True)])


@scenario(
    "TOOL-5",
    """
    Boss LLM: {add a=1, recipient=Bob}
    Bob <- {add a=1, recipient=Bob}
    Bob Agent: 2
    Bob = FIXED_TURNS
    Boss Bob: 2
    Boss = FIXED_TURNS
    => 2
    """,
    turns=2,
)
def a_tool_for_another_agent_is_his_also_if_the_message_is_for_anyone(cast: Cast) -> Task:
    boss = cast.agent("Boss", tool("add", a=1, recipient="Bob"), recognize_recipient_in_content=False)
    bob = cast.agent("Bob")
    for agent in (bob, boss):
        agent.enable_message(Add, require_recipient=True)
    return cast.task(boss, subs=[cast.task(bob, single_round=True)])


@scenario(
    "TOOL-5 FIND-8",
    """
    Boss LLM: {add a=1}
    Boss Agent: ...`add`...`recipient`...
    Boss LLM -> Boss: {add a=1, recipient=Boss}
    Boss Agent: 2
    Boss = FIXED_TURNS
    => 2
    """,
    turns=4,
)
def a_required_recipient_must_be_given(cast: Cast) -> Task:
    agent = cast.agent("Boss", tool("add", a=1), tool("add", a=1, recipient="Boss"))
    agent.enable_message(Add, require_recipient=True)
    return cast.task(agent)


@scenario(
    "TOOL-1 TRUST-2",
    """
    Boss LLM: {launch where=here}
    Boss Agent: launched from here
    Boss = FIXED_TURNS
    => launched from here
    """,
    turns=2,
)
def a_model_that_writes_a_tool_it_was_not_told_of_has_it_handled(cast: Cast) -> Task:
    return cast.task("Boss", tool("launch", where="here"), tools=[Launch])


@scenario(
    "TOOL-4 HANDLE-13",
    """
    Boss LLM: calls c1:add a=1
    Bob <- calls c1:add a=1
    Bob LLM: DONE I see add({"a": 1})
    Bob = DONE
    Boss Bob: I see add({"a": 1})
    Boss = FIXED_TURNS
    => I see add({"a": 1})
    """,
    turns=2,
)
def a_call_that_nobody_handles_is_text_for_a_sub_task(cast: Cast) -> Task:
    bob = cast.task("Bob", lambda text: f"DONE I see {text}")
    boss = cast.agent("Boss", calls(call("c1", "add", a=1)), use_functions_api=True)
    boss.enable_message(Add, handle=False)
    return cast.task(boss, subs=[bob])


class Greet(SendTool):
    """A tool of the library under another name."""

    request: str = "greet"


@scenario(
    "TOOL-1 ORCH-10",
    """
    Boss LLM: {greet to=Bob, content=hello}
    Boss Agent -> Bob: hello
    Bob <- hello
    Bob LLM: DONE hi
    Bob = DONE
    Boss Bob: hi
    Boss = FIXED_TURNS
    => hi
    """,
    turns=3,
)
def a_tool_may_be_derived_from_one_of_the_library(cast: Cast) -> Task:
    bob = cast.task("Bob", "DONE hi")
    return cast.task("Boss", tool("greet", to="Bob", content="hello"), tools=[Greet], subs=[bob])
