"""Random teams, run in every way: each run ends, and all ways give the same transcript."""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.machine_team import TOOLS, Line, Member, build_team, watching

from turnwise import (
    ChatDocument,
    InfiniteLoopException,
    LLMFunctionCall,
    LLMResponse,
    OpenAIToolCall,
    Settings,
    StatusCode,
    temporary_settings,
)
from turnwise.base import ids
from turnwise.machine import stack
from turnwise.machine.actions import Answered, Finish, Look
from turnwise.machine.facts import Facts
from turnwise.machine.state import TaskState, document_ids, dump_state, load_state
from turnwise.machine.step import Step
from turnwise.messages import document_metadata

NAMES = ["t0", "t1", "t2", "t3", "LLM", "User", "agent", "nobody"]

tool_texts = st.one_of(
    st.builds(lambda n: json.dumps({"request": "square", "number": n}), st.integers(-3, 3)),
    st.builds(lambda t: json.dumps({"request": "note", "text": t}), st.sampled_from(["a", "DONE", "{}", ""])),
    st.builds(lambda t: json.dumps({"request": "echo", "inner": t}), st.sampled_from(["", "xy"])),
    st.builds(lambda name: json.dumps({"request": "forward_tool", "agent": name}), st.sampled_from(NAMES)),
    st.builds(lambda name: json.dumps({"request": "send_tool", "to": name, "content": "hi"}), st.sampled_from(NAMES)),
    st.sampled_from(
        [
            '{"request": "end", "text": "over"}',
            '{"request": "silent"}',
            '{"request": "square", "number": "bad"}',
            '{"request": "unknown_thing"}',
            '{"request": "pass_tool"}',
            '{"request": "done_pass_tool"}',
            '{"request": "done_tool", "content": "enough"}',
            '{"request": "square", "number": 2} and {"request": "note", "text": "b"}',
            "{'request': 'square', 'number': 4,}",
            '{"recipient": "t1", "say": "x"}',
            '{"request": "slow", "text": "a"}',
            '{"request": "twice"}',
            '{"request": "learn"}',
            '{"request": "outcome", "text": "DONE"}',
            '{"request": "final", "why": "enough"}',
            '{"request": "recipient_message", "intended_recipient": "", "content": "to whom?"}',
            '{"request": "recipient_message", "intended_recipient": "t1", "content": "hi"}',
            '{"request": "add_recipient", "intended_recipient": "User"}',
            '{"request": "rewind_tool", "n": 1, "content": "again"}',
            "<tool><request>box</request><text>a < b</text></tool>",
        ]
    ),
)
signals = st.builds(
    lambda signal, name, text: signal.replace("NAME", name) + text,
    st.sampled_from(["DONE", "__PASS__", "__PASS__:NAME", "__SEND__:NAME", "|@|NAME ", "TO[NAME]: ", "DO-NOT-KNOW"]),
    st.sampled_from(NAMES),
    st.sampled_from(["", " ", " more", " DONE", " {"]),
)
calls = st.builds(
    lambda names: LLMResponse(
        oai_tool_calls=[
            OpenAIToolCall(id=f"c{i}", function=LLMFunctionCall(name=name, arguments={"number": i, "text": "t"}))
            for i, name in enumerate(names)
        ]
    ),
    st.lists(st.sampled_from(["square", "note", "end", "echo", "pass_tool", "unknown"]), min_size=1, max_size=3),
)
functions = st.builds(
    lambda name, message: LLMResponse(
        message=message, function_call=LLMFunctionCall(name=name, arguments={"number": 2, "text": "t"})
    ),
    st.sampled_from(["square", "slow", "done_tool", "unknown"]),
    st.sampled_from(["", "see", None]),
)
texts = st.sampled_from(["", " ", "hello", "no {json} here", "q", "42"])
replies = st.lists(st.one_of(texts, tool_texts, signals, calls, functions), min_size=1, max_size=4).map(tuple)
tool_sets = st.frozensets(st.integers(0, len(TOOLS) - 1), max_size=5)


def of_options(**values: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={name: st.sampled_from(choices) for name, choices in values.items()})


members = st.builds(
    Member,
    above=st.integers(0, 2),
    replies=st.one_of(replies, st.just(())),
    usable=tool_sets,
    handled=tool_sets,
    answers=st.lists(st.sampled_from(["", "yes", "q", '{"request": "twice"}']), min_size=1, max_size=3).map(tuple),
    human=st.sampled_from([None, "", "go on", "q", "SYSTEM mind", '{"request": "square", "number": 7}', "__PASS__"]),
    interactive=st.booleans(),
    options=of_options(
        only_user_quits_root=[False],
        erase_substeps=[True],
        allow_null_result=[True],
        restart=[False],
        single_round=[True],
        done_if_response=[["LLM"], ["Agent"]],
        done_if_no_response=[["LLM"]],
    ),
    config=of_options(
        inf_loop_cycle_len=[0, 2],
        inf_loop_wait_factor=[1],
        addressing_prefix=["|@|"],
        recognize_string_signals=[False],
        done_if_tool=[True],
        restart_as_subtask=[True],
        allow_subtask_multi_oai_tools=[False],
        done_sequences=[["T, A"], ["L, N"], ["C[hello], U", "T[square]"]],
    ),
    agent=of_options(
        handle_llm_no_tool=["user", "done", "use a tool"],
        accept_user_tools=[False],
        respond_tools_only=[True],
        allow_multiple_tools=[False],
    ),
)
teams = st.lists(members, min_size=1, max_size=4)
openings = st.one_of(st.none(), texts, tool_texts, signals)


def run_team(team: list[Member], opening: str | None, way: str) -> tuple[str, str | None, list[Line], list[int]]:
    task = build_team(team)
    with watching(task, through_json=way == "json") as watch, temporary_settings(Settings(max_turns=5)):
        try:
            result = asyncio.run(task.run_async(opening)) if way == "async" else task.run(opening)
        except InfiniteLoopException:
            result = None
    assert watch.finish is not None
    assert isinstance(watch.finish.status, StatusCode)
    return watch.finish.status.value, None if result is None else result.content, task.transcript, watch.sizes


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(teams, openings)
@example(
    team=[
        Member(replies=(), options={"allow_null_result": True}, agent={"handle_llm_no_tool": "user"}),
        Member(replies=("",)),
    ],
    opening=None,
)
@example(team=[Member(replies=('{"request": "echo", "inner": "xy"}',), handled=frozenset([2]))], opening=None)
@example(
    team=[
        Member(replies=("",)),
        Member(replies=('{"request": "forward_tool", "agent": "t0"}',), config={"done_if_tool": True}),
    ],
    opening="hello",
)
def test_each_run_ends_and_every_way_of_running_it_gives_the_same_transcript(
    team: list[Member], opening: str | None
) -> None:
    status, result, transcript, _ = run_team(team, opening, "sync")
    for way in ("async", "json"):
        other_status, other_result, other_transcript, _ = run_team(team, opening, way)
        assert (other_status, other_result) == (status, result), way
        assert other_transcript == transcript, way


def changed_in_place(document: ChatDocument, **fields: Any) -> ChatDocument:
    for name, value in fields.items():
        setattr(document, name, value)
    return document


@pytest.mark.parametrize(
    ("member", "opening"),
    [
        (Member(replies=("__PASS__:User",)), "the answer is linked to what is passed on"),
        (Member(replies=("__SEND__:User hello",)), "the answer is addressed by its text"),
        (Member(handled=frozenset([0]), usable=frozenset([0])), '{"request": "square", "number": 2}'),
    ],
)
def test_a_move_that_changes_a_document_in_place_is_noticed(
    member: Member, opening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_team([member], opening, "sync")
    monkeypatch.setattr(ChatDocument, "changed", changed_in_place)
    with pytest.raises(AssertionError, match="move changed what it was given"):
        run_team([member], opening, "sync")


@pytest.mark.parametrize("cycle_len", [0, 10])
def test_the_state_does_not_grow_with_the_turns(cycle_len: int) -> None:
    numbers = tuple(f"number {n:04}" for n in range(1000))
    team = [
        Member(replies=numbers, config={"inf_loop_cycle_len": cycle_len, "done_sequences": ["L, U, A", "T, T"]}),
        Member(replies=("yes", "no", "perhaps"), options={"done_if_response": ["LLM"]}),
    ]
    task = build_team(team)
    with watching(task) as watch:
        task.run("begin", turns=600)
    assert watch.finish is not None
    assert watch.finish.status is StatusCode.FIXED_TURNS
    early, late = max(watch.sizes[200:600]), max(watch.sizes[-400:])
    assert late <= early + 100


def test_a_state_read_from_json_is_the_state_that_was_written() -> None:
    # given a state in the middle of a step, with everything set
    question, maybe = ChatDocument(content="?"), ChatDocument(content="DO-NOT-KNOW")
    state = TaskState(
        caller="t0",
        pending=question,
        no_answer=maybe,
        candidates=("Agent", "t1"),
        cursor=1,
        counting=True,
        hashes=("a", "b"),
        sequences=(1, 2),
        stalled=3,
    )
    # when it has been JSON
    data, documents = dump_state(state)
    text = json.loads(json.dumps(data))
    read = load_state(text, {doc.id(): doc for doc in documents})
    # then each field is as it was, of the same type
    for item in fields(TaskState):
        assert getattr(read, item.name) == getattr(state, item.name)
        assert type(getattr(read, item.name)) is type(getattr(state, item.name))
    assert document_ids(text) == [question.id(), maybe.id()]
    with pytest.raises(KeyError, match=maybe.id()):
        load_state(text, {question.id(): question})


def test_nothing_can_be_answered_before_a_run_begins_or_after_it_has_ended() -> None:
    tree = build_team([Member()]).tree()
    facts = Facts(agent=lambda key: tree.agents[key].facts(), new_id=lambda: "doc_1")
    with pytest.raises(ValueError, match="the run of 't0' has ended, or has not begun; nothing was asked"):
        stack.receive(tree.root, (), Answered(), facts, last_frame=1)


def test_a_look_asks_the_same_again_unless_the_run_was_killed_or_is_out_of_time() -> None:
    tree = build_team([Member(replies=("hi",))]).tree()
    facts = Facts(agent=lambda key: tree.agents[key].facts(), new_id=lambda: "doc_1")
    begun = stack.start(tree.root, ChatDocument(content="go"), facts)
    again = stack.receive(tree.root, begun.stack, Look(), facts, last_frame=1)
    assert again.action == begun.action
    killed, late = facts._replace(killed=True), facts._replace(out_of_time=True)
    for changed, status in ((killed, StatusCode.KILL), (late, StatusCode.TIMEOUT)):
        ended = stack.receive(tree.root, begun.stack, Look(), changed, last_frame=1)
        assert isinstance(ended.action, Finish)
        assert ended.action.status is status
        assert ended.stack == ()


def forbidden_here(original: Callable[..., Any]) -> Callable[..., Any]:
    """Raise in this thread, and do as before in others: servers of other tests may still run in this process."""
    here = threading.get_ident()

    def by_chance_or_clock(*args: Any, **named: Any) -> Any:
        if threading.get_ident() == here:
            raise AssertionError("a move made an id, read the clock or threw dice")
        return original(*args, **named)

    return by_chance_or_clock


@contextmanager
def without_chance_or_clock() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        for module, name in CHANCE_AND_CLOCK:
            patched.setattr(module, name, forbidden_here(getattr(module, name)))
        yield


CHANCE_AND_CLOCK = (
    *((ids, name) for name in ("uuid7", "new_id")),
    *((document_metadata, name) for name in ("new_id",)),
    *((time, name) for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter")),
    *((random, name) for name in ("random", "randint", "choice", "getrandbits")),
    *((uuid, name) for name in ("uuid1", "uuid4")),
    (os, "urandom"),
)


@contextmanager
def named_by_the_facts() -> Iterator[list[str]]:
    """Let every move name its documents by a counter, while chance and clock raise; gives the names."""
    given: list[str] = []

    def new_id() -> str:
        given.append(f"doc_{len(given)}")
        return given[-1]

    def start(root: Any, message: Any, facts: Facts, **options: Any) -> stack.StackMove:
        with without_chance_or_clock():
            return START(root, message, facts._replace(new_id=new_id), **options)

    def receive(root: Any, given: Any, answer: Any, facts: Facts, **options: Any) -> stack.StackMove:
        with without_chance_or_clock():
            return RECEIVE(root, given, answer, facts._replace(new_id=new_id), **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stack, "start", start)
        patched.setattr(stack, "receive", receive)
        yield given


START, RECEIVE = stack.start, stack.receive


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(teams, openings)
@example(team=[Member(human="go on", interactive=True)], opening="hello")
@example(
    team=[
        Member(
            replies=(
                LLMResponse(
                    oai_tool_calls=[
                        OpenAIToolCall(id=f"c{i}", function=LLMFunctionCall(name="square", arguments={"number": i}))
                        for i in range(2)
                    ]
                ),
            ),
            usable=frozenset([0]),
            config={"allow_subtask_multi_oai_tools": False},
        ),
        Member(handled=frozenset([0])),
    ],
    opening="two calls for a task that may only have one",
)
def test_a_move_takes_its_ids_from_the_facts_alone(team: list[Member], opening: str | None) -> None:
    with named_by_the_facts() as names, temporary_settings(Settings(max_turns=5)):
        task = build_team(team)
        try:
            result = task.run(opening)
        except InfiniteLoopException:
            result = None
    assert result is None or result.id() in names


def test_a_document_without_an_id_is_noticed_in_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Step, "made", lambda *_: ChatDocument(content="named by chance"))
    with named_by_the_facts(), pytest.raises(AssertionError, match="a move made an id"):
        build_team([Member(replies=("__SEND__:stranger hello",))]).run("hello")
