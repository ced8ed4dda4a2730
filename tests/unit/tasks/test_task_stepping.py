"""A task that a program goes through step by step."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.support.results import given

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocMetaData,
    ChatDocument,
    Entity,
    LLMResponse,
    LLMTokenUsage,
    MockLMConfig,
    OpenAIToolCall,
    StatusCode,
    Task,
    ToolMessage,
)
from turnwise.errors import ConfigurationError
from turnwise.models.base import LLMFunctionCall


class Double(ToolMessage):
    request: str = "double"
    purpose: str = "To double <n>."
    n: int

    def handle(self) -> str:
        return str(2 * self.n)


def speaker(name: str, *texts: str | LLMResponse) -> ChatAgent:
    left = list(texts)
    return ChatAgent(ChatAgentConfig(name=name, llm=MockLMConfig(response_fn=lambda _: left.pop(0))))


def calculator(**options: Any) -> Task:
    agent = speaker("Calc", '{"request": "double", "n": 4}', "DONE 8", "still here")
    agent.enable_message(Double)
    return Task(agent, interactive=False, **options)


def test_each_step_takes_one_answer() -> None:
    # given
    task = calculator()
    # when it begins
    first = given(task.init("double 4"))
    # then the message waits for an answer, and nobody was asked
    assert (first.content, task.pending_sender) == ("double 4", Entity.USER)
    assert task.done() == (False, StatusCode.OK)
    # when it is stepped
    taken = [(given(task.step()).content, task.pending_sender, task.done()[0]) for _ in range(3)]
    # then each step makes one answer pending
    assert taken[:2] == [('{"request": "double", "n": 4}', "LLM", False), ("8", "Agent", False)]
    assert taken[2] == ("DONE 8", "LLM", True)
    assert given(task.result(task.done()[1])).content == "8"


def test_steps_of_an_event_loop_are_the_same() -> None:
    async def stepped() -> list[str]:
        task = calculator()
        task.init("double 4")
        return [given(await task.step_async()).content for _ in range(3)]

    assert asyncio.run(stepped())[1:] == ["8", "DONE 8"]


def test_a_step_does_not_ask_whether_the_task_is_over() -> None:
    task = calculator()
    task.init("double 4")
    for _ in range(3):
        task.step()
    assert task.done()[0]
    # nobody is left to answer the model's own words, so what is pending stays
    assert given(task.step()).content == "DONE 8"


def test_steps_by_hand_and_a_run_have_the_same_transcript() -> None:
    by_hand, at_once = calculator(), calculator()
    by_hand.init("double 4")
    while not by_hand.done()[0]:
        by_hand.step()
    result = given(at_once.run("double 4"))
    assert given(by_hand.result()).content == result.content
    assert by_hand.agent.message_history_str() == at_once.agent.message_history_str()
    assert given(by_hand.pending_message).content == given(at_once.pending_message).content


def test_a_step_without_init_begins_with_the_model() -> None:
    task = Task(speaker("Bot", "hello"), interactive=False)
    assert given(task.step()).content == "hello"


def test_a_sub_task_runs_whole_within_a_step_and_its_steps_can_be_bounded() -> None:
    # a turn of the model, one of the human, and so on
    for turns, expected in ((-1, "four"), (3, "two")):
        root = Task(ChatAgent(ChatAgentConfig(name="Root", llm=None)), interactive=False)
        sub = speaker("Sub", "one", "two", "three", "DONE four")
        root.add_sub_task(Task(sub, interactive=True, only_user_quits_root=False, default_human_response="on"))
        root.init("go")
        taken = given(root.step(turns=turns))
        assert (taken.content, root.pending_sender) == (expected, "Sub")


def test_a_response_is_asked_for_without_taking_it() -> None:
    # given a root with a sub-task
    root = Task(speaker("Root", "__SEND__:Sub what is it?"), interactive=False)
    root.add_sub_task(Task(speaker("Sub", "DONE it is this"), interactive=False))
    root.init("go")
    # when its model is asked, by entity or by name
    answer = given(root.response(Entity.LLM))
    # then its signal is followed, but the question is still pending
    assert (answer.content, answer.metadata.recipient) == ("what is it?", "Sub")
    assert given(root.pending_message).content == "go"
    # when the sub-task is asked
    said = given(root.response(root.sub_tasks[0]))
    # then it runs to its end
    assert (said.content, said.metadata.sender, said.metadata.sender_name) == ("it is this", Entity.USER, "Sub")


def test_a_named_pass_in_a_response_moves_the_pending_message() -> None:
    root = Task(speaker("Root", "__PASS__:Sub"), interactive=False)
    root.add_sub_task(Task(speaker("Sub", "DONE mine"), interactive=False))
    root.init("go")
    root.response("llm")
    assert given(root.pending_message).metadata.recipient == "Sub"
    assert given(root.step()).content == "mine"


def test_responses_can_be_awaited() -> None:
    root = Task(speaker("Root", "hi"), interactive=False)
    root.init("go")
    assert given(asyncio.run(root.response_async("LLM"))).content == "hi"


def test_an_unknown_responder_is_named_with_those_that_exist() -> None:
    root = Task(speaker("Root", "hi"), interactive=False)
    root.add_sub_task(Task(speaker("Sub"), interactive=False))
    root.init("go")
    with pytest.raises(ConfigurationError, match=r"no responder 'Nobody'; it has: Agent, LLM, User, Sub"):
        root.response("Nobody")


# --- kinds of runs -------------------------------------------------------------------------------------------------


def test_a_task_with_a_type_is_the_same_task_that_returns_values() -> None:
    task = Task(speaker("Bot", "DONE 12", "DONE 3.5", "DONE no number"), interactive=False)
    assert task[int].run("go") == 12
    assert task[float].run("go") == 3.5
    assert task[int].run("go") is None
    assert task[int].agent is task.agent
    assert task.default_return_type is None


def test_a_return_type_of_the_call_wins_over_that_of_the_task() -> None:
    task = Task(speaker("Bot", "DONE 12"), interactive=False, default_return_type=int)
    assert task.run("go", return_type=str) == "12"


def test_a_run_with_a_caller_is_that_of_a_sub_task() -> None:
    # given a task that would ask its human if it were the root
    sub = Task(speaker("Sub", "hello", "DONE bye"), interactive=True, default_human_response="on")
    root = Task(speaker("Root"), interactive=False)
    # when it runs for a caller
    message = ChatDocument(content="go", metadata=ChatDocMetaData(sender=Entity.LLM))
    result = given(sub.run(message, caller=root))
    # then it ends by its own word, and its message is not marked as a human's
    assert (result.content, result.metadata.status) == ("bye", StatusCode.DONE)
    assert not result.metadata.tainted
    # and it began from a copy that answers the caller's message
    assert given(given(result.parent).parent).metadata.sender == Entity.USER


def test_a_called_task_keeps_its_history_unless_it_restarts_as_a_sub_task() -> None:
    for afresh, expected in ((False, 5), (True, 3)):
        root = Task(ChatAgent(ChatAgentConfig(name="Root", llm=None)), interactive=False)
        sub = Task(speaker("Sub", "DONE one", "DONE two"), interactive=False)
        config = sub.config.model_copy(update={"restart_as_subtask": afresh})
        root.add_sub_task((sub, config))
        for _ in range(2):
            sub.run("go", caller=root)
        assert len(sub.agent.message_history) == expected


def test_a_session_is_killed_by_name_with_what_it_called() -> None:
    # given two runs of a session and one of another, each of which kills the session in its second answer
    ended = {}
    for session in ("one", "two"):
        calls = iter(range(9))

        def answer(_: str, calls: Any = calls) -> str:
            if next(calls) == 1:
                Task.kill_session("one")
            return "hello"

        agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=answer)))
        task = Task(agent, only_user_quits_root=False, default_human_response="on")
        ended[session] = given(task.run("go", turns=6, session_id=session)).metadata.status
    # then only its own run ended
    assert ended == {"one": StatusCode.KILL, "two": StatusCode.FIXED_TURNS}


def test_an_empty_session_id_kills_nothing() -> None:
    def answer(_: str) -> str:
        Task.kill_session("")
        return "DONE ok"

    task = Task(ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=answer))), interactive=False)
    assert given(task.run("go")).metadata.status is StatusCode.DONE


def test_killing_a_sub_task_or_a_session_ends_the_whole_run_and_runs_of_its_handlers() -> None:
    inner = Task(ChatAgent(ChatAgentConfig(name="Inner", llm=None)), interactive=False)

    class Outer(ChatAgent):
        def double(self, _: Double) -> str:
            root.sub_tasks[0].kill()
            inner.agent.llm = None
            return str(given(inner.run("never", caller=root)).metadata.status)

    agent = Outer(ChatAgentConfig(name="Outer", llm=MockLMConfig(default_response='{"request": "double", "n": 1}')))
    agent.enable_message(Double)
    root = Task(agent, interactive=False)
    root.add_sub_task(Task(speaker("Sub"), interactive=False))
    result = given(root.run("go"))
    assert result.metadata.status is StatusCode.KILL
    assert "KILL" in result.content


# --- clones --------------------------------------------------------------------------------------------------------


def test_a_clone_runs_beside_its_original_with_tools_and_sub_tasks() -> None:
    # given a team that has talked
    root = calculator(name="Desk")
    helper = Task(ChatAgent(ChatAgentConfig(name="Helper", llm=None)), interactive=False)
    root.add_sub_task(helper)
    root.run("double 4", turns=2)
    # when it is cloned
    clone = root.clone(3)
    # then only the name of the root is another
    assert (clone.name, [sub.name for sub in clone.sub_tasks]) == ("Desk-3", ["Helper"])
    assert clone.agent is not root.agent and clone.sub_tasks[0].agent is not helper.agent
    assert clone.agent.toolbox.sets.handled == root.agent.toolbox.sets.handled
    assert clone.agent.message_history == [] and root.agent.message_history
    assert clone.pending_message is None
    assert given(clone.run("go", turns=1)).content == "8"


def test_a_clone_keeps_messages_and_model_but_no_state() -> None:
    agent = speaker("Bot", "a")
    agent.set_system_message("Be brief.")
    agent.default_human_response = "on"
    agent.record.open_calls = [OpenAIToolCall(id="1", function=LLMFunctionCall(name="x"))]
    clone = agent.clone(2)
    assert (clone.config.name, clone.system_message, clone.default_human_response) == ("Bot-2", "Be brief.", "on")
    assert clone.llm is agent.llm
    assert clone.oai_tool_calls == []
    assert clone.id != agent.id
    assert agent.config.name == "Bot"


def test_tasks_that_share_an_agent_share_its_clone() -> None:
    agent = speaker("Bot")
    root = Task(agent, name="Root", interactive=False)
    root.add_sub_task(Task(agent, name="Sub", interactive=False))
    clone = root.clone(0)
    assert clone.agent is clone.sub_tasks[0].agent is not agent


def test_an_agent_that_can_not_be_made_from_its_configuration_says_so() -> None:
    class Special(ChatAgent):
        def __init__(self, config: ChatAgentConfig, key: str) -> None:
            super().__init__(config)
            self.key = key

    with pytest.raises(ConfigurationError, match=r"Special cannot be cloned.*override clone"):
        Task(Special(ChatAgentConfig(), "secret")).clone(1)


# --- what an agent offers ------------------------------------------------------------------------------------------


def test_an_agent_is_found_by_its_id_while_it_lives() -> None:
    agent = ChatAgent()
    assert ChatAgent.from_id(agent.id) is agent
    assert ChatAgent.from_id("agent_0") is None


def test_responders_are_listed_in_the_order_of_a_task() -> None:
    agent = speaker("Bot", "hi", "hi")
    assert [entity for entity, _ in agent.entity_responders()] == [Entity.AGENT, Entity.LLM, Entity.USER]
    assert given(dict(agent.entity_responders())[Entity.LLM]("go")).content == "hi"
    awaited = dict(agent.entity_responders_async())[Entity.LLM]
    assert given(asyncio.run(_awaiting(awaited))).content == "hi"


async def _awaiting(responder: Any) -> ChatDocument | None:
    answer: ChatDocument | None = await responder("go")
    return answer


def test_templates_make_messages_of_each_entity() -> None:
    agent = ChatAgent(ChatAgentConfig(name="Bot"))
    tool = Double(n=1)
    made = [
        agent.create_agent_response("a", tool_messages=[tool]),
        agent.create_llm_response("b", recipient="Sub"),
        agent.create_user_response(content_any={"c": 1}, oai_tool_id2result={"1": "x"}),
    ]
    assert [doc.metadata.sender for doc in made] == [Entity.AGENT, Entity.LLM, Entity.USER]
    assert [doc.metadata.tools_from_agent for doc in made] == [True, True, False]
    assert made[1].metadata.recipient == "Sub"
    assert (made[2].content, made[2].content_any, made[2].oai_tool_id2result) == ("", {"c": 1}, {"1": "x"})


def test_values_become_messages_and_messages_values() -> None:
    agent = ChatAgent()
    assert agent.to_ChatDocument(None) is None
    doc = given(agent.to_ChatDocument({"n": 3}))
    assert (doc.content, doc.content_any, doc.metadata.sender) == ('{"n": 3}', {"n": 3}, Entity.AGENT)
    attached = given(agent.to_ChatDocument(Double(n=2), author_entity=Entity.LLM))
    assert attached.metadata.sender == Entity.LLM
    assert agent.from_ChatDocument(attached, Double) == Double(n=2)
    assert agent.from_ChatDocument(attached, int) == 2
    assert agent.from_ChatDocument(given(agent.to_ChatDocument("nothing")), int) is None


def test_tool_results_are_matched_to_open_calls() -> None:
    agent = ChatAgent()
    calls = [OpenAIToolCall(id=i, function=LLMFunctionCall(name=f"f{i}")) for i in ("1", "2")]
    assert agent.process_tool_results("text") == ("text", None, None)
    assert agent.process_tool_results("text", tool_calls=calls[:1]) == ("text", None, "1")
    assert agent.process_tool_results("", {"a": "x", "b": "y"}, calls) == ("", {"1": "x", "2": "y"}, None)
    agent.record.open_calls = calls
    assert agent.process_tool_results("text") == ("text", None, "1")


def test_usage_is_not_shared_by_clones() -> None:
    spent = LLMResponse(message="DONE", usage=LLMTokenUsage(prompt_tokens=5, calls=1))
    task = Task(speaker("Bot", spent), interactive=False)
    clone = task.clone(1)
    task.run("go")
    assert (task.agent.usage.prompt_tokens, clone.agent.usage.prompt_tokens) == (5, 0)


def test_a_step_by_hand_has_the_default_answer_in_the_humans_place() -> None:
    # given
    task = Task(speaker("Bot", "shall I?"), default_human_response="yes")
    task.init("go")
    task.step()
    # when the human is asked
    answer = given(task.response(Entity.USER))
    # then the task's default speaks for him
    assert (answer.content, answer.metadata.sender, answer.metadata.tainted) == ("yes", Entity.USER, True)
