"""One task, agent or function for many items."""

from __future__ import annotations

import asyncio
import io
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.support.results import given

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocMetaData,
    ChatDocument,
    ExceptionHandling,
    MockLMConfig,
    Task,
    ToolMessage,
    agent_response_batch,
    llm_response_batch,
    quiet_mode,
    run_batch_agent_method,
    run_batch_function,
    run_batch_task_gen,
    run_batch_tasks,
)


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square <n>."
    n: int

    def handle(self) -> str:
        return str(self.n**2)


def text(result: ChatDocument | None) -> str:
    return given(result).content


def squarer(answer: Callable[[str], Awaitable[str]] | None = None) -> Task:
    """Its model asks for the square of what it is told, and says it."""

    def say(said: str) -> str:
        return f'{{"request": "square", "n": {said}}}' if len(said) < 3 else f"DONE {said}"

    config = MockLMConfig(response_fn=say, response_fn_async=answer)
    agent = ChatAgent(ChatAgentConfig(name="Squarer", llm=config))
    agent.enable_message(Square)
    return Task(agent, interactive=False)


def answering(answer: Callable[[str], Awaitable[str]]) -> Task:
    config = MockLMConfig(response_fn_async=answer)
    return Task(ChatAgent(ChatAgentConfig(name="Slow", llm=config)), interactive=False, single_round=True)


class Meeting:
    """Answers only once so many callers wait at the same time; counts how many do."""

    def __init__(self, wanted: int) -> None:
        self.wanted, self.waiting, self.most = wanted, 0, 0
        self.full = asyncio.Event()

    async def __call__(self, said: str) -> str:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        if self.waiting >= self.wanted:
            self.full.set()
        await asyncio.wait_for(self.full.wait(), 20)
        self.waiting -= 1
        return f"met {said}"


@pytest.mark.parametrize(("sequential", "batch_size"), [(True, None), (False, None), (False, 2), (True, 3)])
def test_results_are_in_the_order_of_the_items(sequential: bool, batch_size: int | None) -> None:
    numbers = [10, 11, 12, 13, 14]
    results = run_batch_tasks(squarer(), numbers, output_map=text, sequential=sequential, batch_size=batch_size)
    assert results == ["100", "121", "144", "169", "196"]


def test_items_may_come_from_a_generator() -> None:
    assert [text(result) for result in run_batch_tasks(squarer(), (n for n in (11, 12)))] == ["121", "144"]
    agent = squarer().agent
    made = run_batch_task_gen(lambda i: squarer(), (n for n in (11, 12)))
    asked = llm_response_batch(agent, (n for n in (11, 12)))
    assert [len(results) for results in (made, asked)] == [2, 2]
    assert run_batch_function(abs, iter([-1, 2])) == [1, 2]


def test_items_are_mapped_to_messages_and_results_to_values() -> None:
    items = [{"n": 20}, {"n": 21}]
    results = run_batch_tasks(
        squarer()[int], items, input_map=lambda item: str(item["n"]), output_map=lambda value: value + 1
    )
    assert results == [401, 442]


def test_side_by_side_runs_wait_for_their_models_together() -> None:
    meeting = Meeting(4)
    results = run_batch_tasks(answering(meeting), ["a", "b", "c", "d"], output_map=text, sequential=False)
    assert results == ["met a", "met b", "met c", "met d"]


def test_no_more_run_at_once_than_the_batch_size() -> None:
    meeting = Meeting(2)
    results = run_batch_tasks(answering(meeting), list("abcdef"), output_map=text, sequential=False, batch_size=2)
    assert len(results) == 6
    assert meeting.most == 2


def test_one_after_another_means_one_at_a_time() -> None:
    meeting = Meeting(1)
    run_batch_tasks(answering(meeting), list("abc"))
    assert meeting.most == 1


def test_the_original_keeps_out_of_it() -> None:
    task = squarer()
    run_batch_tasks(task, [10, 11])
    assert task.agent.message_history == []


def test_each_run_has_limits_of_its_own() -> None:
    results = run_batch_tasks(squarer(), [10, 11], output_map=text, turns=2)
    assert results == ["100", "121"]  # the tool's answer is what a second turn leaves pending


def test_results_that_are_none_are_mapped_too() -> None:
    silent = Task(ChatAgent(ChatAgentConfig(name="Silent", llm=None)), interactive=False)
    assert run_batch_tasks(silent, ["a", "b"], output_map=lambda result: result is None) == [True, True]


@pytest.mark.parametrize("sequential", [True, False])
def test_the_first_result_can_end_the_batch(sequential: bool) -> None:
    # given runs of which the third finds something, while others would wait for ever
    asked = []

    async def answer(said: str) -> str:
        asked.append(said)
        while said != "c" or len(asked) < 5:
            await asyncio.sleep(0)
        return said

    found = run_batch_tasks(
        answering(answer),
        list("abcde"),
        output_map=lambda result: text(result) if text(result) == "c" else None,
        sequential=sequential,
        stop_on_first_result=True,
    )
    # then it alone has a result, and nobody was waited for
    assert found == [None, None, "c", None, None]
    assert sorted(asked) == list("abcde")


def test_no_more_items_race_than_a_batch_holds() -> None:
    asked = []

    async def answer(said: str) -> str:
        asked.append(said)
        while said != "b" or len(asked) < 2:
            await asyncio.sleep(0)
        return said

    found = run_batch_tasks(answering(answer), list("abcde"), output_map=text, batch_size=2, stop_on_first_result=True)
    assert found == [None, "b", None, None, None]
    assert sorted(asked) == ["a", "b"]


def failing_at_11() -> Task:
    async def answer(said: str) -> str:
        if said == "11":
            raise LookupError("no eleven")
        return said

    return answering(answer)


@pytest.mark.parametrize("sequential", [True, False])
def test_an_error_is_raised_unless_it_is_wanted_otherwise(sequential: bool) -> None:
    with pytest.raises(LookupError, match="no eleven"):
        run_batch_tasks(failing_at_11(), [10, 11, 12], sequential=sequential)


def test_an_error_can_be_none_or_a_result() -> None:
    for handling in (ExceptionHandling.RETURN_NONE, ExceptionHandling.RETURN_EXCEPTION, True):
        results = run_batch_tasks(failing_at_11(), [10, 11, 12], output_map=text, handle_exceptions=handling)
        assert [results[0], results[2]] == ["10", "12"]
        with_error = handling is ExceptionHandling.RETURN_EXCEPTION
        assert isinstance(results[1], LookupError) if with_error else results[1] is None
    with pytest.raises(LookupError):
        run_batch_tasks(failing_at_11(), [11], handle_exceptions=False)


def test_an_error_is_no_first_result() -> None:
    results = run_batch_tasks(
        failing_at_11(),
        [11, 12],
        output_map=text,
        stop_on_first_result=True,
        handle_exceptions=ExceptionHandling.RETURN_EXCEPTION,
    )
    assert results == [None, "12"]


def cancelled_at_11() -> Task:
    """The model's call for 11 awaits something that was cancelled, as that of a library's own task may be."""

    async def answer(said: str) -> str:
        if said == "11":
            gone = asyncio.get_running_loop().create_future()
            gone.cancel()
            await gone
        return said

    return answering(answer)


@pytest.mark.parametrize("sequential", [True, False])
def test_an_item_that_ends_as_cancelled_by_itself_has_failed(sequential: bool) -> None:
    with pytest.raises(asyncio.CancelledError):
        run_batch_tasks(cancelled_at_11(), [10, 11, 12], sequential=sequential)
    results = run_batch_tasks(
        cancelled_at_11(),
        [10, 11, 12, 13],
        output_map=text,
        sequential=sequential,
        batch_size=1,
        handle_exceptions=True,
    )
    assert results == ["10", None, "12", "13"]
    assert results.outcomes == ["done", "failed", "done", "done"]


def test_an_item_that_cancels_its_own_task_has_failed_and_the_next_begins() -> None:
    async def answer(said: str) -> str:
        if said == "11":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        return said

    results = run_batch_tasks(answering(answer), [10, 11, 12], output_map=text, handle_exceptions=True)
    assert results == ["10", None, "12"]


def test_the_first_error_is_raised_not_what_others_raise_as_they_end() -> None:
    async def answer(said: str) -> str:
        if said == "bad":
            raise LookupError("first")
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("on the way out")

    with pytest.raises(LookupError, match="first"):
        run_batch_tasks(answering(answer), ["a", "bad"], sequential=False)


def test_an_error_cancels_what_is_still_running() -> None:
    cancelled = []
    all_run = asyncio.Barrier(3)

    async def answer(said: str) -> str:
        try:
            await all_run.wait()
            if said == "bad":
                raise LookupError("bad")
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(said)
            raise
        return said

    with pytest.raises(LookupError):
        run_batch_tasks(answering(answer), ["a", "b", "bad"], sequential=False)
    assert sorted(cancelled) == ["a", "b"]


def test_tasks_can_be_made_for_each_item() -> None:
    def made(i: int) -> Task:
        llm = MockLMConfig(default_response=f"DONE number {i}")
        return Task(ChatAgent(ChatAgentConfig(name=f"Bot{i}", llm=llm)), interactive=False)

    assert run_batch_task_gen(made, ["x", "y"], output_map=text) == ["number 0", "number 1"]


def test_a_message_addressed_to_the_task_reaches_its_copy() -> None:
    def addressed(item: int) -> ChatDocument:
        return ChatDocument(content=str(item), metadata=ChatDocMetaData(recipient="Squarer"))

    assert run_batch_tasks(squarer(), [30], input_map=addressed, output_map=text) == ["900"]


def test_no_items_give_no_results_and_a_bad_size_is_refused() -> None:
    assert run_batch_tasks(squarer(), []) == []
    with pytest.raises(ValueError, match="batch_size is 0; expected at least 1"):
        run_batch_tasks(squarer(), [1], batch_size=0)


def test_a_batch_runs_inside_a_running_event_loop() -> None:
    async def notebook() -> list[Any]:
        return run_batch_tasks(squarer(), [10], output_map=text)

    async def failing() -> None:
        run_batch_tasks(failing_at_11(), [11])

    assert asyncio.run(notebook()) == ["100"]
    with pytest.raises(LookupError):
        asyncio.run(failing())


def test_a_batch_inside_a_running_event_loop_can_be_interrupted() -> None:
    # given a batch that would never end, and an interrupt of the thread that waits for it
    begun, ended = threading.Event(), []

    async def answer(said: str) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(said)
        return said

    async def notebook() -> None:
        run_batch_tasks(answering(answer), ["a", "b"], sequential=False)

    def interrupted() -> None:
        begun.wait()
        signal.raise_signal(signal.SIGINT)

    # when
    thread = threading.Thread(target=interrupted)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(notebook())
    thread.join()
    # then
    assert sorted(ended) == ["a", "b"]


def test_models_and_handlers_of_an_agent_answer_items() -> None:
    agent = squarer().agent
    assert llm_response_batch(agent, [4, 5], output_map=text) == [
        '{"request": "square", "n": 4}',
        '{"request": "square", "n": 5}',
    ]
    tools = ['{"request": "square", "n": 6}', '{"request": "square", "n": 7}']
    assert agent_response_batch(agent, tools, output_map=text, sequential=False) == ["36", "49"]
    assert agent.message_history == []
    assert run_batch_agent_method(agent, agent.llm_response_async, [8], output_map=text)[0].endswith("8}")


def test_a_method_must_be_the_agents() -> None:
    async def stranger(_: Any) -> None: ...

    with pytest.raises(ValueError, match="is not a method of ChatAgent"):
        run_batch_agent_method(ChatAgent(), stranger, [1])


def test_a_method_with_an_async_twin_is_refused_before_anything_is_asked() -> None:
    asked: list[str] = []

    def answer(message: str) -> str:
        asked.append(message)
        return message

    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=answer)))
    with pytest.raises(ValueError, match=r"cannot be awaited; pass agent.llm_response_async$"):
        run_batch_agent_method(agent, agent.llm_response, [1])  # type: ignore[arg-type]
    assert asked == []


@pytest.mark.parametrize("sequential", [True, False])
def test_functions_plain_and_async_are_called_for_items(sequential: bool) -> None:
    async def tripled(n: int) -> int:
        await asyncio.sleep(0)
        return 3 * n

    assert run_batch_function(lambda n: 2 * n, [1, 2, 3], sequential=sequential) == [2, 4, 6]
    assert run_batch_function(tripled, [1, 2, 3], sequential=sequential, batch_size=2) == [3, 6, 9]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_far_a_batch_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, quiet, expected in (
        (Terminal(), False, True),
        (Terminal(), True, False),
        (io.StringIO(), False, False),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        with quiet_mode(quiet):
            run_batch_tasks(squarer(), [10, 11])
        shown = stream.getvalue()
        assert ("Running 2 copies of Squarer" in shown and "2/2" in shown) is expected
        assert bool(shown) is expected


def test_a_batch_inside_a_running_event_loop_keeps_the_settings_of_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)

    async def notebook() -> None:
        with quiet_mode():
            run_batch_tasks(squarer(), [10, 11])

    asyncio.run(notebook())
    assert stream.getvalue() == ""


@pytest.mark.parametrize("sequential", [True, False])
def test_an_object_whose_call_is_async_is_awaited(sequential: bool) -> None:
    class Doubling:
        async def __call__(self, n: int) -> int:
            await asyncio.sleep(0)
            return 2 * n

    assert run_batch_function(Doubling(), [1, 2], sequential=sequential) == [2, 4]


def test_an_error_of_a_batch_has_no_other_error_behind_it() -> None:
    with pytest.raises(LookupError) as error:
        run_batch_tasks(failing_at_11(), [11])
    assert error.value.__context__ is None
