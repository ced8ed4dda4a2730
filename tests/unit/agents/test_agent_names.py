"""Methods and settings of agents by the names that programs of the vocabulary use."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from turnwise import (
    AgentConfig,
    AgentDoneTool,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    Entity,
    LLMFunctionCall,
    LLMMessage,
    LLMResponse,
    LLMTokenUsage,
    MockLMConfig,
    OpenAIToolCall,
    Role,
    Settings,
    Task,
    TaskConfig,
    ToolMessage,
)
from turnwise.base.sync_async import Steps
from turnwise.errors import ConfigurationError, UnknownArgumentError
from turnwise.models.budget.call import ModelCall
from turnwise.models.budget.gate import Gate, Hold, through
from turnwise.record.values.records import AgentRecord
from turnwise.serving.attempts.served_agent import over_template


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square <num>."
    num: int

    @classmethod
    def examples(cls) -> list[ToolMessage | tuple[str, ToolMessage]]:
        return [cls(num=3)]

    @classmethod
    def instructions(cls) -> str:
        return "Square often."

    def handle(self) -> str:
        return str(self.num**2)


class Greet(ToolMessage):
    request: str = "greet"
    purpose: str = "To greet <name>."
    name_of: str

    def handle(self) -> AgentDoneTool:
        return AgentDoneTool(content=f"hello {self.name_of}")


def agent_of(kind: type[ChatAgent] = ChatAgent, *answers: str, **settings: Any) -> ChatAgent:
    left = iter(answers)
    agent = kind(ChatAgentConfig(llm=MockLMConfig(response_fn=lambda _: next(left, "no more")), **settings))
    agent.enable_message([Square, Greet])
    return agent


def json_of(num: object) -> str:
    return f'{{"request": "square", "num": {num}}}'


# --- handling ----------------------------------------------------------------------------------------------------


def test_handling_a_message_returns_the_text_of_its_tool() -> None:
    agent = agent_of()

    assert agent.handle_message(json_of(4)) == "16"
    assert asyncio.run(agent.handle_message_async(json_of(5))) == "25"
    assert agent.handle_message("no tool here") is None


def test_handling_a_message_returns_results_by_id_where_it_holds_several_calls() -> None:
    agent = agent_of()
    calls = [OpenAIToolCall(id=f"c{n}", function=LLMFunctionCall(name="square", arguments={"num": n})) for n in (2, 3)]

    assert agent.handle_message(agent.create_llm_response(oai_tool_calls=calls)) == {"c2": "4", "c3": "9"}


def test_handling_a_message_returns_a_document_where_there_is_more_to_it_than_text() -> None:
    result = agent_of().handle_message('{"request": "greet", "name_of": "Bo"}')

    assert isinstance(result, ChatDocument)
    assert isinstance(result.tool_messages[0], AgentDoneTool)


def test_a_text_that_is_marked_as_typed_is_not_handed_back_without_its_mark() -> None:
    class Repeating(ChatAgent):
        def square(self, tool: Square) -> ChatDocument:
            typed = self.create_agent_response(f"somebody typed {tool.num}")
            typed.metadata.tainted = True
            return typed

    result = agent_of(Repeating).handle_message(json_of(4))

    assert isinstance(result, ChatDocument)
    assert result.metadata.tainted


class Overriding(ChatAgent):
    """Says what it was asked to do, and adds to it."""

    def __init__(self, config: ChatAgentConfig | None = None) -> None:
        super().__init__(config)
        self.asked: list[str] = []

    def handle_message(self, msg: str | ChatDocument) -> Any:
        result = super().handle_message(msg)
        self.asked.append(f"message -> {result}")
        return result

    def handle_tool_message(self, tool: ToolMessage, chat_doc: ChatDocument | None = None) -> Any:
        self.asked.append(f"{tool.request} in a message from {chat_doc.metadata.sender if chat_doc else None}")
        return f"<{super().handle_tool_message(tool, chat_doc)}>"

    def tool_validation_error(self, ve: ValidationError, tool_class: type[ToolMessage] | None = None) -> str:
        return f"{ve.title}: {ve.error_count()} wrong"


@pytest.mark.parametrize("way", ["sync", "async"])
def test_what_an_agent_overrides_of_handling_is_asked(way: str) -> None:
    agent = agent_of(Overriding, json_of('"x"'), json_of(3), "DONE")
    assert isinstance(agent, Overriding)
    task = Task(agent, interactive=False)

    if way == "sync":
        task.run("go")
    else:
        asyncio.run(task.run_async("go"))

    assert [m.content for m in agent.message_history if m.role == Role.USER] == ["go", "Square: 1 wrong", "<9>"]
    assert agent.asked[1:] == ["message -> Square: 1 wrong", "square in a message from LLM", "message -> <9>"]


def test_several_calls_keep_their_ids_through_an_overridden_handling() -> None:
    calls = [OpenAIToolCall(id=f"c{n}", function=LLMFunctionCall(name="square", arguments={"num": n})) for n in (2, 3)]
    answers = iter([LLMResponse(oai_tool_calls=calls), LLMResponse(message="DONE")])
    agent = Overriding(
        ChatAgentConfig(llm=MockLMConfig(response_fn=lambda _: next(answers)), use_tools=False, use_functions_api=True)
    )
    agent.enable_message(Square)

    Task(agent, interactive=False).run("go")

    results = [(m.tool_call_id, m.content) for m in agent.message_history if m.role == Role.TOOL]
    assert results == [("c2", "<4>"), ("c3", "<9>")]


def test_a_served_agent_asks_what_its_class_overrides() -> None:
    agent = agent_of(Overriding)

    served = over_template(agent, AgentRecord(key="A"), {}).agent
    answer = served.agent_response(served.create_llm_response(json_of(2)))

    assert answer is not None
    assert answer.content == "<4>"
    assert not served.facts().silent


def test_the_fields_of_a_tool_are_explained_by_the_name_that_the_model_knows() -> None:
    agent = agent_of()

    with pytest.raises(ValidationError) as raised:
        Square.model_validate({"num": "x"})

    assert "`square`" in agent.tool_validation_error(raised.value)
    assert "`num`" in agent.tool_validation_error(raised.value)


# --- reading -----------------------------------------------------------------------------------------------------


def test_tools_are_read_out_of_a_text_as_the_model_writes_it() -> None:
    found = agent_of().get_json_tool_messages(f"first {json_of(1)}, then {json_of(2)} and {{}}")

    assert found == [Square(num=1), Square(num=2)]


def test_an_agent_says_what_of_a_message_is_for_it() -> None:
    agent = agent_of()
    agent.disable_message_handling(Greet)
    greeting = agent.create_llm_response('{"request": "greet", "name_of": "Bo"}')

    assert agent.has_only_unhandled_tools(greeting)
    assert not agent.can_respond(greeting)
    assert not agent.has_only_unhandled_tools(json_of(1))
    assert agent.can_respond(json_of(1))
    assert agent.can_respond("text")
    assert not agent_of(respond_tools_only=True).can_respond("text")


def test_an_agent_names_its_tools_but_lets_nobody_change_them_that_way() -> None:
    agent = agent_of(enable_orchestration_tool_handling=False)
    agent.disable_message_use(Square)

    assert set(agent.llm_tools_map) == agent.llm_tools_known == agent.llm_tools_handled == {"square", "greet"}
    assert agent.llm_tools_usable == {"greet"}
    with pytest.raises(TypeError):
        agent.llm_tools_map["other"] = Square  # type: ignore[index]


# --- what the model is told --------------------------------------------------------------------------------------


def test_rules_and_instructions_of_tools_stand_in_the_system_message() -> None:
    agent = agent_of()

    told = agent.system_and_tools_message().content

    assert agent.json_format_rules() in told
    assert agent.tool_instructions() == "Square often."
    assert told.endswith("Square often.")
    assert "EXAMPLE 1" in agent.sample_multi_round_dialog()


def test_an_agent_may_bring_its_own_rules() -> None:
    class Own(ChatAgent):
        def json_format_rules(self) -> str:
            return f"Write one of {sorted(self.llm_tools_usable)}."

    agent = agent_of(Own, "DONE")
    Task(agent, interactive=False).run("go")

    assert agent.message_history[0].content.endswith("Write one of ['greet', 'square'].\n\nSquare often.")


def test_first_messages_can_be_given_as_a_task_and_set_as_attributes() -> None:
    config = ChatAgentConfig()
    agent = ChatAgent(
        config, task=[LLMMessage(role=Role.SYSTEM, content="Be terse."), LLMMessage(role=Role.USER, content="Begin.")]
    )
    agent.system_message += " Really."

    assert [m.content for m in agent.task_messages] == ["Be terse. Really.", "Begin."]
    agent.user_message = None
    assert [m.role for m in agent.task_messages] == [Role.SYSTEM]
    assert config == ChatAgentConfig()


def test_messages_can_be_answered_apart_from_the_conversation() -> None:
    agent = agent_of(ChatAgent, "one", "two")
    messages = [LLMMessage(role=Role.SYSTEM, content="s"), LLMMessage(role=Role.USER, content="u")]

    first, second = agent.llm_response_messages(messages), asyncio.run(agent.llm_response_messages_async(messages))

    assert (first.content, second.content) == ("one", "two")
    assert (first.metadata.sender, first.metadata.agent_id) == (Entity.LLM, agent.id)
    assert agent.message_history == []
    assert agent.usage.calls == 2


def test_an_agent_without_a_model_says_so() -> None:
    with pytest.raises(ConfigurationError, match="no model"):
        ChatAgent(ChatAgentConfig(llm=None)).llm_response_messages([])


def test_tokens_are_counted_of_texts_and_of_messages() -> None:
    agent = agent_of()
    messages = [LLMMessage(role=Role.USER, content="a few words of text")]

    assert 0 < agent.num_tokens("a few words of text") <= agent.num_tokens(messages) == agent.chat_num_tokens(messages)


# --- settings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: TaskConfig(done_if_tools=True),  # type: ignore[call-arg]
            "no setting 'done_if_tools'; did you mean 'done_if_tool'",
        ),
        (
            lambda: TaskConfig(restart_subtask_run=True),  # type: ignore[call-arg]
            "'restart_as_subtask'",
        ),
        (
            lambda: ChatAgentConfig(show_stats=False),  # type: ignore[call-arg]
            "ChatAgentConfig has no setting 'show_stats'; .*`usage`",
        ),
        (
            lambda: AgentConfig(xyz=1),  # type: ignore[call-arg]
            "expected one of: accept_user_tools, ",
        ),
        (
            lambda: Settings(debug=True),  # type: ignore[call-arg]
            "logs_dir",
        ),
        (
            lambda: MockLMConfig(cache_config=None),  # type: ignore[call-arg]
            "answers of models are not kept",
        ),
        (
            lambda: Task(ChatAgentConfig()),  # type: ignore[arg-type]
            "ChatAgent; got ChatAgentConfig",
        ),
    ],
)
def test_a_setting_that_does_not_exist_is_an_error_that_names_another(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        make()


def test_a_class_of_settings_may_have_more_of_them() -> None:
    class Own(ChatAgentConfig):
        colour: str = "red"

    class Any_(ChatAgentConfig, extra="allow"):
        pass

    assert Own(colour="blue").colour == "blue"
    assert Any_.model_validate({"shape": "round"}).model_extra == {"shape": "round"}


def test_an_agent_says_what_it_has_used() -> None:
    spent = LLMTokenUsage(prompt_tokens=7, completion_tokens=5, cost=Decimal("0.25"), calls=1)
    model = MockLMConfig(response_fn=lambda _: LLMResponse(message="hi", usage=spent))
    agent = ChatAgent(ChatAgentConfig(llm=model))
    agent.llm_response("one")
    agent.llm_response("two")

    assert (agent.total_llm_token_usage, agent.total_llm_token_cost) == (24, 0.5)
    agent.add_usage(LLMTokenUsage(prompt_tokens=1, cost=None))
    assert (agent.total_llm_token_usage, agent.total_llm_token_cost) == (25, 0.0)


def test_what_a_handler_has_used_of_a_model_counts_for_its_agent_and_its_run() -> None:
    class Counted(Gate):
        """The gate of a run that keeps what is counted."""

        def __init__(self) -> None:
            self.found: list[LLMTokenUsage] = []

        def reserving(self, call: ModelCall) -> Steps[Hold]:
            raise AssertionError("nothing is called through it")

        def count(self, usage: LLMTokenUsage) -> None:
            self.found.append(usage)

    agent, gate = ChatAgent(ChatAgentConfig(llm=MockLMConfig())), Counted()
    spent = LLMTokenUsage(prompt_tokens=7, cost=Decimal("0.25"), calls=1)
    with through(gate):
        agent.count_usage(spent, "an embedder")

    assert (gate.found, agent.usage, agent.other_model) == ([spent], spent, "an embedder")


def test_tools_that_a_text_attempts_are_named() -> None:
    assert ChatDocument(content=f"{json_of(3)} and {json_of('bad')}").get_tool_names() == ["square", "square"]
    written = "<tool><request>square</request><num>3</num></tool>"
    assert ChatDocument(content=f"see {written}").get_tool_names() == ["square"]
    assert ChatDocument(content='{"num": 3} < 4').get_tool_names() == []
    assert agent_of().try_get_tool_messages(json_of("bad")) == []
    assert len(agent_of().try_get_tool_messages(json_of(3))) == 1


def test_an_answer_becomes_a_message_and_its_calls_a_text() -> None:
    call = OpenAIToolCall(id="c1", function=LLMFunctionCall(name="square", arguments={"num": 3}))
    answer = LLMResponse(oai_tool_calls=[call])

    assert answer.to_LLMMessage() == LLMMessage(role=Role.ASSISTANT, content="", tool_calls=[call])
    assert json.loads(answer.tools_content())["function"] == {"name": "square", "arguments": {"num": 3}}
    old = LLMResponse(message="so", function_call=LLMFunctionCall(name="square", arguments={"num": 4}))
    assert old.to_LLMMessage().function_call == old.function_call
    assert json.loads(old.tools_content()) == {"name": "square", "arguments": {"num": 4}}
    assert LLMResponse(message="so").tools_content() == ""


@pytest.mark.parametrize("given", ["square", 3, LLMMessage, [LLMMessage]], ids=repr)
def test_what_is_no_tool_class_is_refused(given: Any) -> None:
    agent = ChatAgent(ChatAgentConfig(llm=None))
    for method in (agent.enable_message, agent.enable_message_handling):
        with pytest.raises(ConfigurationError, match=r"is not a tool; give a subclass of ToolMessage"):
            method(given)
    with pytest.raises(ConfigurationError, match="is not a tool"):
        agent.disable_message_use(given)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"name": 3}, "a task's name is a text; got 3"),
        ({"name": " B"}, "' B'.*that begins or ends with a blank"),
        ({"name": "B\n"}, "begins or ends with a blank"),
        ({"foo": 1}, "Task has no argument 'foo'; expected one of: agent, name"),
        ({"interactiv": True}, "'interactiv'; did you mean 'interactive'"),
        ({"recognize_string_signals": False}, r"it is a setting: Task\(config=TaskConfig\(recognize_string_signals"),
    ],
    ids=str,
)
def test_an_argument_that_a_task_does_not_take_is_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Task(ChatAgent(ChatAgentConfig(llm=None)), **arguments)
    assert issubclass(UnknownArgumentError, TypeError)
