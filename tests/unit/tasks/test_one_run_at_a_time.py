"""A task, and each agent of it, is in one conversation at a time; another run is refused before it changes anything."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    InfiniteLoopException,
    MockLMConfig,
    StatusCode,
    Task,
    ToolMessage,
    run_batch_tasks,
)
from turnwise.errors import ConfigurationError
from turnwise.tasks.agents_in_use import agents_in_use

RUNNING_ALREADY = r"the task 'Desk' is running already; .* `task\.clone\(1\)`"


@pytest.fixture(autouse=True)
def _nothing_stays_in_use() -> Any:
    yield
    assert not agents_in_use._holds


class Desk:
    """A task whose model waits until it is told to answer."""

    def __init__(self) -> None:
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()
        self.agent = ChatAgent(ChatAgentConfig(name="Desk", llm=MockLMConfig(response_fn_async=self._answer)))
        self.task: Task[ChatDocument] = Task(self.agent, interactive=False)

    async def _answer(self, text: str) -> str:
        self.asked.set()
        await self.may_answer.wait()
        return f"DONE to {text}"

    async def begin(self, task: Task[Any] | None = None, **more: Any) -> asyncio.Task[Any]:
        """Return a run for Ann that waits for the model."""
        run = asyncio.create_task((task or self.task).run_async("Ann", **more))
        await self.asked.wait()
        return run

    def said(self) -> list[str]:
        return [message.content for message in self.agent.message_history[1:]]


async def _finished(logic: Awaitable[None]) -> None:
    await logic


def _with_desk(logic: Callable[[Desk], Awaitable[None]]) -> None:
    async def main() -> None:
        # A run that is not refused would wait for the model for ever.
        await asyncio.wait_for(_finished(logic(Desk())), 10)

    asyncio.run(main())


def test_a_second_run_is_refused_and_the_first_one_keeps_its_history() -> None:
    async def logic(desk: Desk) -> None:
        ann = await desk.begin()
        desk.task.stop_reason = before = object()  # type: ignore[assignment]  # shows that nothing was changed

        for again in (desk.task, desk.task[str]):
            for restart in (True, False):
                with pytest.raises(ConfigurationError, match=RUNNING_ALREADY):
                    await again.run_async("Bob", allow_restart=restart)
        with pytest.raises(ConfigurationError, match=RUNNING_ALREADY):
            desk.task.run("Bob", session_id="of Bob")

        assert desk.task.stop_reason is before
        assert desk.said() == ["Ann"]
        desk.may_answer.set()
        assert (await ann).content == "to Ann"
        assert await desk.task[str].run_async("Bob") == "to Bob"

    _with_desk(logic)


def test_a_refused_run_does_not_take_the_kill_switch() -> None:
    async def logic(desk: Desk) -> None:
        ann = await desk.begin()
        with pytest.raises(ConfigurationError):
            await desk.task.run_async("Bob", session_id="of Bob")
        Task.kill_session("of Bob")
        assert not ann.done()

        desk.task.kill()

        assert (await ann).metadata.status is StatusCode.KILL

    _with_desk(logic)


def test_a_clone_runs_beside_its_task() -> None:
    async def logic(desk: Desk) -> None:
        ann = await desk.begin()
        bob = asyncio.create_task(desk.task.clone(1)[str].run_async("Bob"))
        desk.may_answer.set()
        assert [(await ann).content, await bob] == ["to Ann", "to Bob"]

    _with_desk(logic)


def test_a_batch_runs_clones_side_by_side_also_of_a_task_that_runs() -> None:
    async def logic(desk: Desk) -> None:
        ann = await desk.begin()
        other = Task(ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn="DONE {}".format))), interactive=False)
        assert run_batch_tasks(other[str], ["1", "2", "3"], sequential=False) == ["1", "2", "3"]
        desk.may_answer.set()
        await ann

    _with_desk(logic)


def test_another_task_that_shares_an_agent_is_refused_wherever_the_agent_is() -> None:
    async def logic(desk: Desk) -> None:
        boss: Task[ChatDocument] = Task(ChatAgent(ChatAgentConfig(name="Boss", llm=None)), interactive=False)
        boss.add_sub_task(Task(desk.agent, name="helper", restart=False, interactive=False))
        ann = await desk.begin()

        message = "the task 'Boss' cannot run now: its agent 'Desk' is in use by a run of the task 'Desk'"
        with pytest.raises(ConfigurationError, match=message):
            boss.run("Bob")

        desk.may_answer.set()
        assert (await ann).content == "to Ann"

    _with_desk(logic)


class Again(ToolMessage):
    request: str = "again"


def _nesting(inner: Callable[[], object]) -> Task[ChatDocument]:
    """Return a task that, told "outer", calls `inner` in its handler; told anything else, it is done with that."""

    class Nesting(ChatAgent):
        def again(self, _: Again) -> str:
            inner()
            return "DONE outer"

    def answer(text: str) -> str:
        return '{"request": "again"}' if text == "outer" else f"DONE {text}"

    agent = Nesting(ChatAgentConfig(name="Nest", llm=MockLMConfig(response_fn=answer)))
    agent.enable_message(Again)
    return Task(agent, interactive=False)


def test_a_handler_may_run_its_own_task_a_view_of_it_and_another_one_of_its_agent() -> None:
    seen: list[object] = []

    def inner() -> None:
        for task in (nest[str], Task(nest.agent, restart=False, interactive=False)[str]):
            seen.append(task.run("inner"))

    nest = _nesting(inner)

    result = nest.run("outer")

    assert seen == ["inner", "inner"]
    assert result is not None and result.content == "outer"


def test_the_context_tells_whether_a_run_is_within_another_and_not_the_thread() -> None:
    seen: list[object] = []

    def run() -> None:
        try:
            seen.append(nest[str].run("inner"))
        except ConfigurationError:
            seen.append("refused")

    def inner() -> None:
        context = contextvars.copy_context()  # as `asyncio.to_thread` gives it to its thread
        for target in (run, lambda: context.run(run)):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()

    nest = _nesting(inner)

    nest.run("outer")

    assert seen == ["refused", "inner"]


def test_a_caller_that_is_given_is_a_run_around_this_one() -> None:
    seen: list[object] = []

    def inner() -> None:
        context = contextvars.Context()  # knows nothing of the run, as a plain thread's
        seen.append(context.run(lambda: nest[str].run("inner", caller=nest)))

    nest = _nesting(inner)

    nest.run("outer")

    assert seen == ["inner"]


def test_an_inner_run_gives_its_agents_back_to_the_run_around_it() -> None:
    seen: list[str] = []

    def bob() -> None:
        with pytest.raises(ConfigurationError, match="the task 'Nest' is running already"):
            nest.run("Bob")
        seen.append("refused")

    def inner() -> None:
        nest.run("inner")
        contextvars.Context().run(bob)

    nest = _nesting(inner)

    nest.run("outer")

    assert seen == ["refused"]


def test_an_inner_run_that_outlives_the_run_around_it_releases_its_agents() -> None:
    async def logic(desk: Desk) -> None:
        left: list[asyncio.Task[Any]] = []

        class Leave(ToolMessage):
            request: str = "leave"

            async def handle_async(self) -> str:
                left.append(asyncio.create_task(desk.task.run_async("in the background")))
                await desk.asked.wait()
                return "DONE"

        boss = ChatAgent(ChatAgentConfig(name="Boss", llm=MockLMConfig(response_fn=lambda _: '{"request": "leave"}')))
        boss.enable_message(Leave)
        both: Task[ChatDocument] = Task(boss, interactive=False)
        both.add_sub_task(desk.task)
        await both.run_async("go")

        with pytest.raises(ConfigurationError, match=RUNNING_ALREADY):
            await desk.task.run_async("Bob")

        desk.may_answer.set()
        await asyncio.gather(*left)
        assert await desk.task[str].run_async("Bob") == "to Bob"

    _with_desk(logic)


def test_steps_are_taken_within_and_beside_a_run_as_before() -> None:
    seen: list[object] = []

    def inner() -> None:
        nest.init("inner")
        nest.step()
        seen.append(nest[str].run("inner"))

    nest = _nesting(inner)
    nest.init("outer")
    nest.step()
    nest.step()

    assert seen == ["inner"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, InfiniteLoopException])
def test_a_run_that_raises_releases_its_agents(error: type[BaseException]) -> None:
    def refuse() -> None:
        raise error("no")

    nest = _nesting(refuse)

    with pytest.raises(error):
        nest.run("outer")

    assert nest[str].run("next") == "next"


def test_a_run_that_is_cancelled_or_killed_releases_its_agents() -> None:
    async def logic(desk: Desk) -> None:
        ann = await desk.begin()
        ann.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ann

        desk.asked.clear()
        bob = await desk.begin()
        desk.task.kill()
        assert (await bob).metadata.status is StatusCode.KILL

        desk.may_answer.set()
        assert await desk.task[str].run_async("Cid") == "to Cid"

    _with_desk(logic)


def test_a_run_that_is_closed_in_the_middle_releases_its_agents() -> None:
    nest = _nesting(lambda: None)
    steps = nest._running("outer", -1, None, 0, 0, 0, "", True)
    next(steps)
    with pytest.raises(ConfigurationError, match="running already"):
        nest.run("next")

    steps.close()

    assert nest[str].run("next") == "next"


@pytest.mark.parametrize(("runs", "kills"), [("view", "task"), ("task", "view"), ("view", "another view")])
def test_a_task_and_its_views_are_killed_by_each_other(runs: str, kills: str) -> None:
    async def logic(desk: Desk) -> None:
        tasks: dict[str, Task[Any]] = {"task": desk.task, "view": desk.task[str], "another view": desk.task[int]}
        run = await desk.begin(tasks[runs], return_type=ChatDocument)

        tasks[kills].kill()

        assert (await run).metadata.status is StatusCode.KILL

    _with_desk(logic)


def test_killing_a_clone_leaves_its_task_alone() -> None:
    async def logic(desk: Desk) -> None:
        ann = await desk.begin()
        desk.task.clone(1).kill()
        desk.may_answer.set()
        assert (await ann).content == "to Ann"

    _with_desk(logic)
