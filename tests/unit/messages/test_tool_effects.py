"""The effects of tools outside, the keys of their calls, and the state that a failed handler leaves as it was."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from turnwise import (
    AgentDoneTool,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    DonePassTool,
    DoneTool,
    FinalResultTool,
    ForwardTool,
    MockLMConfig,
    PassTool,
    RecipientTool,
    ResultTool,
    RetrievalTool,
    RewindTool,
    SendTool,
    Task,
    ToolMessage,
    idempotency_key,
)
from turnwise.agents.tools.handler_calls import HandlerCall, HandlerCalls, Kept
from turnwise.agents.tools.handler_lookup import effect_of
from turnwise.base.call_context import current_call
from turnwise.errors import ConfigurationError


class Charge(ToolMessage):
    request: str = "charge"
    purpose: str = "To charge <amount>."
    amount: int
    _effect = "idempotent"

    def handle(self, idempotency_key: str) -> str:
        return f"charged {self.amount} under {idempotency_key}"


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "To look."
    _effect = "read_only"

    def handle(self) -> str:
        return "seen"


class Mail(ToolMessage):
    request: str = "mail"
    purpose: str = "To send a mail."

    def handle(self) -> str:
        return f"sent under {idempotency_key()}"


class Recording(HandlerCalls):
    """Writes down what is called, and gives back what it is told was called before."""

    def __init__(self, before: dict[int, Any] | None = None) -> None:
        super().__init__("ask")
        self.before = before or {}
        self.seen: list[tuple[Any, ...]] = []

    def kept(self, call: HandlerCall) -> Kept | None:
        return Kept(self.before[call.no]) if call.no in self.before else None

    def begins(self, call: HandlerCall) -> None:
        self.seen.append((call.no, call.tool, call.effect, call.key))

    def ended(self, call: HandlerCall, value: Any) -> None:
        self.seen.append((call.no, value))


def _agent(*tools: type[ToolMessage], kind: type[ChatAgent] = ChatAgent, **config: Any) -> ChatAgent:
    agent = kind(ChatAgentConfig(name="clerk", llm=None, **config))
    agent.enable_message(list(tools))
    return agent


def _calls(agent: ChatAgent, message: Any, calls: Recording | None = None) -> list[tuple[Any, ...]]:
    calls = calls or Recording()
    with calls.within(current_call()).open():
        agent.agent_response(message)
    return calls.seen


def test_a_tool_has_the_effect_that_it_declares_and_else_is_once() -> None:
    agent = _agent()
    assert [effect_of(agent, tool) for tool in (Charge(amount=1), Look(), Mail())] == [
        "idempotent",
        "read_only",
        "once",
    ]


def test_an_effect_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(ConfigurationError, match=r"'twice'.*'read_only', 'idempotent', 'once'"):

        class Twice(ToolMessage):
            request: str = "twice"
            _effect = "twice"  # type: ignore[assignment]


def test_the_effect_is_inherited_and_follows_an_added_recipient() -> None:
    class Refund(Charge):
        request: str = "refund"

    assert Refund.private_default("_effect") == "idempotent"
    assert Refund.require_recipient().private_default("_effect") == "idempotent"


def test_a_function_declares_its_effect_where_it_becomes_a_tool() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    tool = ToolMessage.from_function(add, effect="read_only")
    assert effect_of(_agent(), tool(a=1, b=2)) == "read_only"  # type: ignore[call-arg]
    assert effect_of(_agent(), ToolMessage.from_function(add)(a=1, b=2)) == "once"  # type: ignore[call-arg]
    assert effect_of(_agent(), Charge.from_function(add, name="other")(a=1, b=2, amount=1)) == "idempotent"  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "tool",
    [
        AgentDoneTool(),
        DoneTool(),
        ResultTool(),
        PassTool(),
        DonePassTool(),
        ForwardTool(agent="x"),
        SendTool(to="x"),
        RecipientTool(intended_recipient="x", content="y"),
        RewindTool(n=1, content="y"),
        RetrievalTool(query="x"),
    ],
    ids=lambda tool: str(tool.request),
)
def test_tools_of_the_framework_change_nothing_outside(tool: ToolMessage) -> None:
    assert effect_of(_agent(), tool) == "read_only"


def test_a_handler_of_the_application_in_the_place_of_the_frameworks_has_declared_nothing() -> None:
    class Paying(ResultTool):
        request: str = "paying"

        def handle(self) -> AgentDoneTool:
            return AgentDoneTool()

    class Own(ChatAgent):
        def done_tool(self, tool: DoneTool) -> str:
            return "paid"

    class Declared(Paying):
        _effect = "read_only"

    assert effect_of(_agent(), Paying()) == "once"
    assert effect_of(_agent(kind=Own), DoneTool()) == "once"
    assert effect_of(_agent(), Declared()) == "read_only"
    assert FinalResultTool.private_default("_effect") == "read_only"


def test_calls_are_numbered_within_an_answer_with_a_key_each() -> None:
    text = '{"request": "charge", "amount": 1} {"request": "look"} {"request": "mail"}'
    seen = _calls(_agent(Charge, Look, Mail), text)
    assert seen == [
        (1, "charge", "idempotent", "ask.1"),
        (1, "charged 1 under ask.1"),
        (2, "look", "read_only", "ask.2"),
        (2, "seen"),
        (3, "mail", "once", "ask.3"),
        (3, "sent under ask.3"),
    ]


def test_a_call_of_an_earlier_attempt_is_not_made_again() -> None:
    agent = _agent(Charge, Mail)
    calls = Recording({1: "it was charged before"})
    with calls.within(current_call()).open():
        answer = agent.agent_response('{"request": "charge", "amount": 1} {"request": "mail"}')
    assert answer is not None
    assert answer.content == "Result from charge: it was charged before\n\nResult from mail: sent under ask.2"
    assert [entry[0] for entry in calls.seen] == [2, 2]


def test_each_call_in_this_process_has_a_key_of_its_own() -> None:
    agent = _agent(Charge)
    texts = [getattr(agent.agent_response('{"request": "charge", "amount": 1}'), "content", "") for _ in range(3)]
    keys = {text.rpartition(" ")[2] for text in texts}
    assert len(keys) == 3
    assert idempotency_key() is None


def test_a_task_within_a_handler_derives_its_keys_from_the_handlers() -> None:
    inner = _agent(Mail)

    class Delegate(ToolMessage):
        request: str = "delegate"

        def handle(self) -> str:
            task = Task(inner, interactive=False, done_if_response=["Agent"])
            results = [task.run('{"request": "mail"}') for _ in range(2)]
            direct = inner.agent_response('{"request": "mail"}')
            return " ".join(getattr(result, "content", "") for result in [*results, direct])

    (begun, ended) = _calls(_agent(Delegate), '{"request": "delegate"}')
    assert begun == (1, "delegate", "once", "ask.1")
    assert ended[1] == "sent under ask.1.1.1 sent under ask.1.2.1 sent under ask.1.3"


def test_a_handler_that_is_async_gets_its_key_whoever_waits_for_it() -> None:
    async def book(seat: str, idempotency_key: str) -> str:
        await asyncio.sleep(0)
        return f"{seat} {idempotency_key}"

    tool = ToolMessage.from_function(book)
    assert "idempotency_key" not in tool.model_fields
    agent = _agent(tool)
    assert _calls(agent, '{"request": "book", "seat": "4a"}')[1] == (1, "4a ask.1")

    async def answer() -> list[tuple[Any, ...]]:
        calls = Recording()
        with calls.within(current_call()).open():
            await agent.agent_response_async('{"request": "book", "seat": "4a"}')
        return calls.seen

    assert asyncio.run(answer())[1] == (1, "4a ask.1")


class Answers(ChatAgent):
    def handle_message_fallback(self, msg: str | ChatDocument) -> str:
        return "fallback"


class Wraps(ChatAgent):
    def handle_message(self, msg: str | ChatDocument) -> Any:
        return super().handle_message(msg)


@pytest.mark.parametrize(
    ("agent", "calls"),
    [
        (_agent(kind=Answers), ["handle_message_fallback once"]),
        (_agent(kind=Answers, fallback_effect="read_only"), ["handle_message_fallback read_only"]),
        (_agent(handle_llm_no_tool=lambda doc: "x"), ["handle_message_fallback once"]),
        (_agent(handle_llm_no_tool="x"), []),
        (_agent(RecipientTool), ["handle_message_fallback read_only"]),
        (_agent(Mail, kind=Wraps), ["handle_message once"]),
        (_agent(Mail, kind=Wraps, fallback_effect="idempotent"), ["mail once"]),
        (_agent(), []),
    ],
)
def test_an_agents_own_code_is_one_call_unless_it_may_be_made_again(agent: ChatAgent, calls: list[str]) -> None:
    wraps = isinstance(agent, Wraps)
    message = agent.create_llm_response('{"request": "mail"}' if wraps else "no tool")
    seen = [f"{entry[1]} {entry[2]}" for entry in _calls(agent, message) if len(entry) > 2]
    assert seen == calls


class Till(ChatAgent):
    class State(BaseModel):
        coins: list[int] = []

    def put(self, tool: Put) -> str:
        self.state.coins.append(tool.coin)
        if tool.coin < 0:
            raise ValueError("no such coin")
        return f"{sum(self.state.coins)} in the till"


class Put(ToolMessage):
    request: str = "put"
    coin: int


def test_what_a_handler_that_fails_has_changed_of_the_state_is_thrown_away() -> None:
    model = MockLMConfig(response_fn=lambda text: "DONE" if "till" in text else '{"request": "put", "coin": 1}')
    agent = Till(ChatAgentConfig(name="till", llm=model))
    agent.enable_message(Put)
    task = Task(agent, interactive=False, restart=False)
    task.run('{"request": "put", "coin": 5}')
    assert agent.state.coins == [5]

    agent.llm.config.response_fn = lambda text: '{"request": "put", "coin": -1}'  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="no such coin"):
        task.run("again")
    assert agent.state.coins == [5]
