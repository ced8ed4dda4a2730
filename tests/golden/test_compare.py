"""The comparer accepts what the format leaves free, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from .compare import Difference, compare, compare_run
from .model import Scenario, load_all
from .record import (
    Golden,
    GoldenMessage,
    GoldenRun,
    Mentions,
    Observation,
    ObservedDocument,
    ObservedError,
    ObservedMessage,
    ObservedRun,
    PromptMessage,
    Prompts,
    Text,
    TypedValue,
)

ALICE = {"task": "Alice", "responder": "LLM", "sender": "LLM", "recipient": "", "content": "hello"}
SQUARE = {"tool": "square", "fields": {"n": 3}}
DONE_WITH_SQUARE = {"tool": "agent_done_tool", "fields": {"content": "ok", "tools": [SQUARE]}}


def taken(golden: list[dict[str, Any]], observed: list[dict[str, Any]]) -> Difference | None:
    """The difference between two runs of these messages, given by what sets them apart from `ALICE`."""
    golden_run = GoldenRun.model_validate(
        {"taken": [ALICE | parts for parts in golden], "ends": [], "result": None, "exception": None}
    )
    observed_run = ObservedRun.model_validate({"taken": [ALICE | parts for parts in observed], "ends": []})
    return compare_run(observed_run, golden_run)


def run(**parts: Any) -> GoldenRun:
    return GoldenRun.model_validate({"taken": [], "ends": [], "result": None, "exception": None} | parts)


def seen(**parts: Any) -> ObservedRun:
    return ObservedRun.model_validate({"taken": [], "ends": []} | parts)


def echo(golden: Golden, optional: bool) -> Observation:
    """An observation of just what was recorded, with or without the messages that may be left out."""
    return Observation(
        runs=tuple(_echo_run(golden_run, optional) for golden_run in golden.runs),
        llm_calls=golden.llm_calls,
        human_asked=golden.human_asked,
        llm_inputs=_echo_prompts(golden.llm_inputs) if golden.llm_inputs is not None else None,
    )


def _echo_run(golden: GoldenRun, optional: bool) -> ObservedRun:
    result: ObservedDocument | TypedValue | None = None
    if isinstance(golden.result, TypedValue):
        result = golden.result
    elif golden.result is not None:
        result = ObservedDocument(
            content=_wording(golden.result.content),
            tools=golden.result.tools,
            status=golden.result.status,
            recipient=golden.result.recipient,
            content_any=golden.result.content_any,
        )
    return ObservedRun(
        taken=tuple(_echo_message(message) for message in golden.taken if optional or not message.optional),
        ends=golden.ends,
        result=result,
        error=ObservedError(types=(golden.exception,)) if golden.exception else None,
    )


def _echo_message(golden: GoldenMessage) -> ObservedMessage:
    return ObservedMessage(
        task=golden.task,
        responder=golden.responder_as or golden.responder,
        sender=golden.sender,
        recipient=golden.recipient,
        content=_wording(golden.content),
        tools=golden.tools,
        status=golden.status,
        calls=golden.calls,
        results={id: _wording(text) for id, text in golden.results.items()} if golden.results else None,
    )


def _echo_prompts(golden: Prompts) -> Prompts:
    return {
        agent: tuple(tuple(_worded(message) for message in call) for call in calls) for agent, calls in golden.items()
    }


def _worded(message: PromptMessage) -> PromptMessage:
    return message.model_copy(update={"content": _wording(message.content)})


def _wording(text: Text) -> str:
    return " and ".join(["so", *text.mentions]) if isinstance(text, Mentions) else text


@pytest.mark.parametrize("optional", [True, False])
def test_every_record_is_like_itself_with_or_without_its_optional_messages(optional: bool) -> None:
    for scenario in load_all():
        assert compare(echo(scenario.golden, optional), scenario.golden) is None, scenario.id


def test_a_record_without_one_of_its_messages_is_noticed_everywhere() -> None:
    for scenario in load_all():
        whole = echo(scenario.golden, optional=False)
        last = whole.runs[-1]
        if last.taken:
            short = last.model_copy(update={"taken": last.taken[:-1]})
            assert compare(_with_last_run(whole, short), scenario.golden) is not None, scenario.id


def _with_last_run(observation: Observation, last: ObservedRun) -> Observation:
    return observation.model_copy(update={"runs": (*observation.runs[:-1], last)})


@pytest.mark.parametrize(
    ("part", "golden", "observed"),
    [
        ("task", "Alice", "Bob"),
        ("responder", "LLM", "AGENT"),
        ("responder", "Bob", "bob"),
        ("sender", "LLM", "USER"),
        ("recipient", "", "Bob"),
        ("recipient", "Carol", "carol"),
        ("content", "hello", "Hello"),
        ("content", '{"n": 3}', '{"n": 4}'),
        ("content", {"mentions": ["square"]}, "a circle"),
        ("content", {"mentions": []}, " "),
        ("status", "DONE", None),
        ("status", None, "DONE"),
        ("tools", [SQUARE], []),
        ("tools", [SQUARE], [{"tool": "square", "fields": {"n": 4}}]),
        ("tools", [SQUARE], [{"tool": "square", "fields": {}}]),
        ("tools", [SQUARE], [SQUARE, SQUARE]),
        ("tools", [], [SQUARE]),
        ("calls", [{"id": "c1", "name": "square", "arguments": {}}], []),
        (
            "calls",
            [{"id": "c1", "name": "square", "arguments": {}}],
            [{"id": "c2", "name": "square", "arguments": {}}],
        ),
        ("results", {"c1": "a", "c2": "b"}, {"c2": "b", "c1": "a"}),
        ("results", {"c1": "a"}, {"c1": "b"}),
        ("results", {"c1": "a"}, None),
    ],
)
def test_a_message_with_another_part_differs_in_that_part(part: str, golden: Any, observed: Any) -> None:
    difference = taken([{part: golden}], [{part: observed}])

    assert difference is not None
    assert difference.note == f"differs in {part}"


@pytest.mark.parametrize(
    ("golden", "observed"),
    [
        ({"content": "two words"}, {"content": " two \n words "}),
        ({"content": '{"a": 1, "b": [2]}'}, {"content": '{"b":[2],"a":1}'}),
        ({"content": {"mentions": ["square", "n"]}}, {"content": "the field n of square is bad"}),
        ({"recipient": "USER"}, {"recipient": "User"}),
        ({"tools_found": [SQUARE]}, {}),
        ({"tools_found": [SQUARE]}, {"tools": [SQUARE]}),
        ({"tools": [SQUARE]}, {"tools": [{"tool": "square", "fields": {"n": 3, "recipient": ""}}]}),
        ({"tools": [DONE_WITH_SQUARE]}, {"tools": [DONE_WITH_SQUARE, SQUARE]}),
        ({"tools": [DONE_WITH_SQUARE, SQUARE]}, {"tools": [DONE_WITH_SQUARE]}),
        ({"content": '{"request": "square"}'}, {"content": '{"request": "square"}', "tools": [SQUARE]}),
        ({"pass": True}, {"responder": "USER"}),
        ({"responder": "AGENT", "responder_as": "LLM"}, {"responder": "LLM"}),
        ({"responder": "AGENT", "responder_as": "LLM"}, {"responder": "AGENT"}),
    ],
)
def test_a_message_that_differs_only_where_it_is_free_is_the_same(
    golden: dict[str, Any], observed: dict[str, Any]
) -> None:
    assert taken([golden], [observed]) is None


@pytest.mark.parametrize("mark", ["start", "null"])
def test_an_optional_message_may_be_there_or_not_but_not_twice(mark: str) -> None:
    golden: list[dict[str, Any]] = [{"content": "first", mark: True}, {"content": "second"}]

    assert taken(golden, [{"content": "first"}, {"content": "second"}]) is None
    assert taken(golden, [{"content": "second"}]) is None
    assert taken(golden, [{"content": "first"}, {"content": "first"}, {"content": "second"}]) is not None
    assert taken(golden, [{"content": "first"}]) is not None


def test_an_optional_message_may_look_like_the_next_one() -> None:
    golden: list[dict[str, Any]] = [{"content": "same", "start": True}, {"content": "same"}]

    assert taken(golden, [{"content": "same"}]) is None
    assert taken(golden, [{"content": "same"}, {"content": "same"}]) is None
    assert taken(golden, []) is not None


def test_a_message_too_many_is_named() -> None:
    difference = taken([{"content": "one"}], [{"content": "one"}, {"content": "two"}])

    assert difference is not None
    assert "two" in difference.observed


def test_ends_are_compared_in_order() -> None:
    golden = run(ends=[("Bob", "DONE"), ("Alice", "DONE")])

    assert compare_run(seen(ends=[("Bob", "DONE"), ("Alice", "DONE")]), golden) is None
    assert compare_run(seen(ends=[("Alice", "DONE"), ("Bob", "DONE")]), golden) is not None
    assert compare_run(seen(ends=[("Bob", "DONE")]), golden) is not None


def test_an_exception_of_a_type_that_derives_from_the_recorded_one_is_the_same() -> None:
    golden = run(exception="ValueError")

    assert compare_run(seen(error={"types": ["HandlerValueError", "ValueError"]}), golden) is None
    assert compare_run(seen(error={"types": ["TypeError"]}), golden) is not None
    assert compare_run(seen(), golden) is not None


def test_an_unexpected_exception_comes_first_and_brings_its_traceback() -> None:
    difference = compare_run(
        seen(error={"types": ["KeyError"], "detail": "here it broke"}), run(ends=[("Alice", "DONE")])
    )

    assert difference is not None
    assert "KeyError" in str(difference)
    assert "here it broke" in str(difference)


def test_tasks_that_end_because_of_the_exception_are_not_compared() -> None:
    golden = run(exception="ValueError", ends=[("Bob", "DONE")])
    error = {"types": ["ValueError"]}

    assert compare_run(seen(error=error, ends=[("Bob", "DONE"), ("Alice", "ERROR")]), golden) is None
    assert compare_run(seen(error=error, ends=[("Carol", "DONE")]), golden) is not None


@pytest.mark.parametrize(
    ("golden", "observed"),
    [
        (None, {"content": ""}),
        ({"content": "ok", "status": "DONE"}, None),
        ({"content": "ok", "status": "DONE"}, {"content": "ok", "status": "OK"}),
        ({"content": "ok", "recipient": "Bob"}, {"content": "ok"}),
        ({"content": "4", "content_any": 4}, {"content": "4"}),
        ({"content": "ok", "tools": [SQUARE]}, {"content": "ok"}),
        ({"value": 1}, {"value": True}),
        ({"value": SQUARE}, {"value": {"tool": "square", "fields": {"n": 4}}}),
        ({"value": 3}, {"content": "3"}),
    ],
)
def test_another_result_is_noticed(golden: Any, observed: Any) -> None:
    assert compare_run(seen(result=observed), run(result=golden)) is not None


@pytest.mark.parametrize(
    ("golden", "observed"),
    [
        (None, None),
        ({"content": "ok", "status": "DONE"}, {"content": " ok", "status": "DONE"}),
        ({"content": "4", "content_any": 4}, {"content": "4", "content_any": 4}),
        ({"value": 17}, {"value": 17}),
        ({"value": SQUARE}, {"value": SQUARE}),
    ],
)
def test_the_same_result_is_the_same(golden: Any, observed: Any) -> None:
    assert compare_run(seen(result=observed), run(result=golden)) is None


def _scenario(id: str) -> Scenario:
    return next(scenario for scenario in load_all() if scenario.id == id)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("llm_calls", {"Alice": 2, "Bob": 1}),
        ("llm_calls", {}),
        ("human_asked", 1),
        ("llm_inputs", {"Alice": ()}),
        ("llm_inputs", {"Alice": ((PromptMessage(role="user", content="Goodbye"),),)}),
        ("llm_inputs", {"Alice": ((PromptMessage(role="user", content="Hello"),) * 2,)}),
        ("runs", ()),
    ],
)
def test_another_count_or_prompt_is_noticed(part: str, value: Any) -> None:
    golden = _scenario("h01-stall").golden
    observed = echo(golden, optional=True).model_copy(update={part: value})

    assert compare(observed, golden) is not None


def test_prompts_that_a_player_can_not_see_are_not_compared() -> None:
    golden = _scenario("h01-stall").golden
    observed = echo(golden, optional=True).model_copy(update={"llm_inputs": None})

    assert compare(observed, golden) is None


@pytest.mark.parametrize(
    ("calls_before", "prompt", "same"),
    [
        ({"Alice": 0}, "ad", True),
        ({}, "abcd", True),
        ({"Alice": 1}, "ad", False),
        (None, "ad", False),
        ({}, "bd", False),
        ({}, "abcde", False),
        ({}, "da", False),
    ],
)
def test_a_prompt_after_a_forgotten_run_may_lack_one_unbroken_piece(
    calls_before: dict[str, int] | None, prompt: str, same: bool
) -> None:
    golden = _scenario("h01-stall").golden
    seen, recorded = (tuple(PromptMessage(role="user", content=text) for text in texts) for texts in (prompt, "abcd"))
    golden = golden.model_copy(update={"llm_inputs": {"Alice": (recorded,)}})
    observed = echo(golden, optional=True).model_copy(
        update={"llm_inputs": {"Alice": (seen,)}, "calls_before": calls_before}
    )

    assert (compare(observed, golden) is None) is same


def test_a_model_that_was_never_called_may_be_counted_as_zero() -> None:
    golden = _scenario("h01-stall").golden
    observed = echo(golden, optional=True).model_copy(update={"llm_calls": {"Alice": 1, "Bob": 0}})

    assert compare(observed, golden) is None
