"""The ends of tasks, and their results."""

from __future__ import annotations

import asyncio
import threading
from decimal import Decimal
from itertools import count
from typing import Any

import pytest
from tests.support.results import given

from turnwise import (
    AgentDoneTool,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    Entity,
    InfiniteLoopException,
    LLMResponse,
    LLMTokenUsage,
    MockLMConfig,
    ResultTool,
    Settings,
    StatusCode,
    Task,
    TaskConfig,
    ToolMessage,
    temporary_settings,
)
from turnwise.errors import ApplicationError, ConfigurationError
from turnwise.machine.loops import is_loop
from turnwise.machine.sequences import AgentEvent, DoneSequence, EventType, parse_done_sequence


def agent_saying(*texts: str, name: str = "Bot") -> ChatAgent:
    """The model says the texts in turn, then counts."""
    left = list(texts)
    numbers = count()
    llm = MockLMConfig(response_fn=lambda _: left.pop(0) if left else f"reply {next(numbers)}")
    return ChatAgent(ChatAgentConfig(name=name, llm=llm))


def chatting(**options: Any) -> Task:
    """A task that goes on until a limit ends it: its model talks to a human who always says 'on'."""
    options = {"interactive": True, "only_user_quits_root": False, "default_human_response": "on", **options}
    return Task(agent_saying(), **options)


def status(result: ChatDocument | None) -> StatusCode | None:
    return None if result is None else result.metadata.status


def test_turns_end_a_run_with_the_pending_message() -> None:
    result = given(chatting().run("go", turns=3))
    assert status(result) is StatusCode.FIXED_TURNS
    assert result.content == "reply 1"


def test_the_global_limit_of_turns_gives_no_result_and_is_read_when_a_run_starts() -> None:
    with temporary_settings(Settings(max_turns=4)):
        assert chatting().run("go") is None
        assert chatting().run("go", turns=4) is None
        assert status(chatting().run("go", turns=3)) is StatusCode.FIXED_TURNS


def test_a_single_round_is_one_step_and_two_for_a_delegate() -> None:
    assert given(Task(agent_saying("one", "two"), interactive=False, single_round=True).run("go")).content == "one"
    assert given(chatting(single_round=True, llm_delegate=True).run("go")).content == "on"


def spending(tokens: int, cost: str) -> Task:
    usage = LLMTokenUsage(prompt_tokens=tokens, cost=Decimal(cost), calls=1)
    numbers = count()
    llm = MockLMConfig(response_fn=lambda _: LLMResponse(message=f"reply {next(numbers)}", usage=usage))
    return Task(
        ChatAgent(ChatAgentConfig(llm=llm)), interactive=True, only_user_quits_root=False, default_human_response="on"
    )


def test_money_and_tokens_end_a_run_once_they_are_over_the_limit() -> None:
    for limits, expected in (({"max_cost": 0.25}, StatusCode.MAX_COST), ({"max_tokens": 25}, StatusCode.MAX_TOKENS)):
        result = given(spending(10, "0.10").run("go", **limits))
        assert status(result) is expected
        assert result.content == "reply 2"


def test_time_ends_a_run_with_the_pending_message() -> None:
    started = threading.Event()
    task = chatting()
    task.log_message = lambda *args, **kwargs: started.set()  # type: ignore[method-assign]
    result = task.run("go", max_time=0.05)
    assert started.is_set()
    assert status(result) is StatusCode.TIMEOUT


def test_a_killed_run_ends_before_anybody_else_is_asked() -> None:
    asked: list[str] = []

    def reply(text: str) -> str:
        asked.append(text)
        task.kill()
        return "last words"

    task = Task(ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=reply))), interactive=False)
    result = task.run("go")
    assert status(result) is StatusCode.KILL
    assert len(asked) == 1


def test_a_task_that_nobody_answers_is_stalled_and_has_no_result() -> None:
    assert Task(ChatAgent(ChatAgentConfig(llm=None)), interactive=False, max_stalled_steps=2).run("go") is None


def test_the_same_messages_again_and_again_are_a_loop() -> None:
    task = Task(
        ChatAgent(ChatAgentConfig(name="Bot", llm=MockLMConfig(default_response="same"))),
        interactive=True,
        only_user_quits_root=False,
        default_human_response="on",
        config=TaskConfig(inf_loop_cycle_len=3, inf_loop_wait_factor=3),
    )
    with pytest.raises(InfiniteLoopException, match=r"'Bot' goes round in circles.*inf_loop_wait_factor"):
        task.run("go", turns=500)


def test_no_loop_is_looked_for_with_a_cycle_length_of_zero() -> None:
    task = Task(
        ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response="same"))),
        only_user_quits_root=False,
        default_human_response="on",
        config=TaskConfig(inf_loop_cycle_len=0),
    )
    assert status(task.run("go", turns=200)) is StatusCode.FIXED_TURNS


def loop(history: list[str], cycle_len: int = 2, wait_factor: int = 3, dominance: float = 1.5) -> bool:
    counts = sorted(((key, history.count(key)) for key in set(history)), key=lambda item: -item[1])[: cycle_len + 1]
    recent = history[-cycle_len * wait_factor :]
    return is_loop(
        counts,
        recent,
        total=len(history),
        cycle_len=cycle_len,
        dominance=dominance,
        wait_factor=wait_factor,
    )


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (["a", "b"] * 10, True),
        (["a"] * 20, True),
        (["x", "y", "z", *["a", "b"] * 10], True),
        (["a", "b"] * 2, False),  # too early
        ([f"m{i}" for i in range(40)], False),
        # polling: the question is always the same, the answer is not
        ([m for i in range(20) for m in ("poll", f"status {i}")], False),
        # it was a loop, but the last messages are others
        ([*["a", "b"] * 20, "c", "d", "e", "f", "g", "h"], False),
        # a cycle of three is longer than what is looked for
        (["a", "b", "c"] * 10, False),
    ],
)
def test_a_loop_is_what_dominates_and_is_all_that_was_said_lately(history: list[str], expected: bool) -> None:
    assert loop(history) is expected


def test_polling_that_ends_is_no_loop_in_a_run_either() -> None:
    numbers = count()

    class Poll(ToolMessage):
        request: str = "poll"

        def handle(self) -> str:
            n = next(numbers)
            return f"still {n}" if n < 100 else "DONE ready"

    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response='{"request": "poll"}')))
    agent.enable_message(Poll)
    config = TaskConfig(inf_loop_cycle_len=2, inf_loop_wait_factor=2)
    assert given(Task(agent, interactive=False, config=config).run("go")).content == "ready"


# --- what a run returns ---------------------------------------------------------------------------------------------


class Answer(ToolMessage):
    request: str = "answer"
    number: int = 0
    words: tuple[str, ...] = ()


class Ask(ToolMessage):
    request: str = "ask"

    def handle(self) -> AgentDoneTool:
        return AgentDoneTool(content={"k": 1}, tools=[Answer(number=4, words=("w",)), Answer(number=5)])


class Outcome(ResultTool):
    request: str = "outcome"
    ratio: float = 0.5


def result_of(wanted: Any, says: str = '{"request": "ask"}') -> Any:
    agent = agent_saying(says)
    agent.enable_message(Ask)
    return Task(agent, interactive=False).run("go", return_type=wanted)


@pytest.mark.parametrize(
    ("wanted", "says", "expected"),
    [
        (str, "DONE", None),
        (str, "DONE fine", "fine"),
        (int, "DONE 42", 42),
        (int, "DONE many", None),
        (float, "DONE 4.5", 4.5),
        (bool, "DONE yes", True),
        (bool, "DONE False", False),
        (bool, "DONE perhaps", False),
        (Answer, "DONE no tool", None),
    ],
)
def test_a_wanted_type_is_read_from_the_text(wanted: Any, says: str, expected: Any) -> None:
    assert result_of(wanted, says) == expected


def test_a_wanted_type_is_found_in_what_a_handler_returned() -> None:
    assert result_of(dict) == {"k": 1}
    assert result_of(str) == '{"k": 1}'
    assert result_of(Answer) == Answer(number=4, words=("w",))
    assert result_of(list[Answer]) == [Answer(number=4, words=("w",)), Answer(number=5)]
    assert result_of(int) == 4
    assert result_of(tuple) == ("w",)
    assert status(result_of(ChatDocument)) is StatusCode.DONE


def test_the_default_return_type_is_used_where_the_run_names_none() -> None:
    assert Task(agent_saying("DONE 7"), interactive=False, default_return_type=int).run("go") == 7
    anything: Any = Task(agent_saying("DONE 7"), interactive=False)[Any].run("go")
    assert anything == "7"
    assert Task(agent_saying("DONE 7"), interactive=False, default_return_type=int).run("go", return_type=str) == "7"


# --- done-sequences -------------------------------------------------------------------------------------------------


def test_a_sequence_is_read_from_words_letters_names_and_expressions() -> None:
    events = parse_done_sequence("T[square], tool, A, LLM, user, N, C[bye|over]").events
    assert [event.event_type for event in events] == [
        EventType.SPECIFIC_TOOL,
        EventType.TOOL,
        EventType.AGENT_RESPONSE,
        EventType.LLM_RESPONSE,
        EventType.USER_RESPONSE,
        EventType.NO_RESPONSE,
        EventType.CONTENT_MATCH,
    ]
    assert (events[0].tool_name, events[-1].content_pattern) == ("square", "bye|over")
    made = DoneSequence(events=events)
    assert parse_done_sequence(made) is made


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("T, X", r"done-sequence 'T, X': 'X' is not an event; expected T, T\[tool\], L, A, U, N or C\[regex\]"),
        ("A[tool]", r"'A\[tool\]' is not an event"),
        ("T[]", r"'T\[\]' is not an event"),
        ("", "is empty; write for instance 'T, A'"),
        (" , ", "is empty"),
        ("C[(]", r"'\(' is not a regular expression"),
    ],
)
def test_a_bad_sequence_is_refused_when_the_task_is_built(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Task(agent_saying(), config=TaskConfig(done_sequences=[text]))


def test_a_sequence_without_events_is_refused_when_the_task_is_built() -> None:
    with pytest.raises(ValueError, match="has no events; give at least one"):
        Task(agent_saying(), config=TaskConfig(done_sequences=[DoneSequence(events=[])]))


def test_the_kind_of_an_event_may_be_its_value() -> None:
    assert AgentEvent(event_type="tool").event_type is EventType.TOOL  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"event_type": "tol"}, "event_type is 'tol'; expected one of tool, specific_tool, llm_response"),
        ({"event_type": EventType.SPECIFIC_TOOL}, "names no tool; give tool_class or tool_name"),
        ({"event_type": EventType.CONTENT_MATCH}, "has no content_pattern; give a regular expression"),
    ],
)
def test_an_event_that_could_never_happen_is_refused(event: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AgentEvent(**event)


# --- trees ----------------------------------------------------------------------------------------------------------


def test_sub_tasks_come_one_by_one_in_a_sequence_or_with_a_configuration() -> None:
    root, names = Task(agent_saying(name="Root")), ("A", "B", "C", "D")
    first, second, third, fourth = (Task(agent_saying(name=name)) for name in names)
    root.add_sub_task((first, second))
    root.add_sub_task([(third, TaskConfig(restart_as_subtask=True))])
    root.add_sub_task(fourth)
    assert [(sub.name, afresh) for sub, afresh in root.sub_task_entries()] == [
        ("A", False), ("B", False), ("C", True), ("D", False),
    ]  # fmt: skip


@pytest.mark.parametrize("given", [None, "Bob", ChatAgent(ChatAgentConfig(name="Bob")), (TaskConfig(), TaskConfig())])
def test_what_is_no_task_is_refused_as_a_sub_task(given: Any) -> None:
    root = Task(agent_saying(name="Root"))
    with pytest.raises(ConfigurationError, match="expected a Task, or a pair of a Task and a TaskConfig"):
        root.add_sub_task(given)
    assert root.sub_task_entries() == []


def test_names_that_mean_something_else_or_are_taken_are_refused() -> None:
    for name in ("LLM", "user", "Agent", "a/b"):
        with pytest.raises(ConfigurationError, match=f"cannot be named '{name}'"):
            Task(agent_saying(), name=name)
    root = Task(agent_saying(name="Root"))
    root.add_sub_task(Task(agent_saying(name="Sub")))
    with pytest.raises(ConfigurationError, match=r"has a sub-task named 'Sub' already; give each a name of its own"):
        root.add_sub_task([Task(agent_saying(name="Other")), Task(agent_saying(name="Sub"))])


def test_a_task_that_contains_itself_is_refused() -> None:
    root, sub = Task(agent_saying(name="Root")), Task(agent_saying(name="Sub"))
    root.add_sub_task(sub)
    sub.add_sub_task(root)
    with pytest.raises(ApplicationError, match=r"'Root' contains itself \(at 'Root/Sub/Root'\).*make a second Task"):
        root.run("go")


def test_an_unknown_entity_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'Robot' is not an entity; expected LLM, Agent or User"):
        Task(agent_saying(), done_if_response=["Robot"])


def test_rules_of_a_task_that_never_ran_say_so() -> None:
    with pytest.raises(RuntimeError, match="has not run"):
        Task(agent_saying()).done()


def test_a_document_for_another_task_gives_nothing_without_a_step() -> None:
    task = Task(agent_saying("never"), interactive=False)
    doc = ChatDocument(content="hi")
    doc.metadata.recipient = "Somebody"
    assert task.run(doc) is None
    assert task.agent.message_history == []


def test_an_element_of_a_sequence_may_name_who_has_to_send_the_message() -> None:
    def team(responder: str | None) -> Task:
        sequence = DoneSequence(events=[AgentEvent(event_type=EventType.USER_RESPONSE, responder=responder)])
        parent = Task(
            ChatAgent(ChatAgentConfig(name="Parent", llm=MockLMConfig(default_response="over to you"))),
            interactive=False,
            config=TaskConfig(done_sequences=[sequence]),
        )
        parent.add_sub_task(
            Task(
                ChatAgent(ChatAgentConfig(name="Child", llm=MockLMConfig(default_response="from below"))),
                interactive=False,
                done_if_response=[Entity.LLM],
            )
        )
        return parent

    ended = [team(responder).run("go", turns=4) for responder in (None, "child", "Nobody")]

    assert [result.metadata.status for result in ended if result is not None] == [
        StatusCode.DONE,
        StatusCode.DONE,
        StatusCode.FIXED_TURNS,
    ]


def test_one_call_without_a_price_does_not_undo_the_limit_of_the_others() -> None:
    # given a model of which every other call has no known price
    usages = [LLMTokenUsage(cost=cost, calls=1) for cost in (None, Decimal("0.10"), None, Decimal("0.10"))]
    left = iter(usages)
    llm = MockLMConfig(response_fn=lambda _: LLMResponse(message="on", usage=next(left)))
    task = Task(ChatAgent(ChatAgentConfig(llm=llm, handle_llm_no_tool="and?")), interactive=False)
    # then what is known to be spent ends the run
    assert status(task.run("go", max_cost=0.15)) is StatusCode.MAX_COST
    assert next(left, None) is None


def test_another_coroutine_runs_between_the_answers_of_a_run_and_may_end_it() -> None:
    # given models and handlers that never wait
    asked: list[str] = []

    def on(text: str) -> str:
        asked.append(text)
        return "on"

    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=on), handle_llm_no_tool="go on"))
    ping = Task(agent, interactive=False, config=TaskConfig(inf_loop_cycle_len=0))

    async def both() -> ChatDocument | None:
        async def ending() -> None:
            while len(asked) < 3:
                await asyncio.sleep(0)
            ping.kill()

        result, _ = await asyncio.gather(ping.run_async("go", turns=20_000), ending())
        return result

    # when
    result = asyncio.run(both())
    # then
    assert result is not None
    assert result.metadata.status is StatusCode.KILL


class Weigh(ToolMessage):
    request: str = "weigh"
    purpose: str = "To weigh."

    def handle(self) -> str:
        return "5 kg"


class Measure(Weigh):
    request: str = "measure"


@pytest.mark.parametrize(("wanted", "result"), [(Weigh, "5 kg"), (Measure, "finished")])
def test_an_event_of_a_sequence_names_its_tool_by_class(wanted: type[ToolMessage], result: str) -> None:
    agent = agent_saying('{"request": "weigh"}', "DONE finished")
    agent.enable_message([Weigh, Measure])
    events = [
        AgentEvent(event_type=EventType.SPECIFIC_TOOL, tool_class=wanted),
        AgentEvent(event_type=EventType.AGENT_RESPONSE),
    ]
    task = Task(agent, interactive=False, config=TaskConfig(done_sequences=[DoneSequence(events=events)]))

    assert given(task.run("go")).content == result
