"""Tasks that a program goes through itself, clones, batches; made by a handler, so that they are played anywhere."""

from __future__ import annotations

from typing import Any

from tests.rules.cast import Cast
from tests.rules.scenario import done_by_a_handler, scenario
from tests.rules.tools import Add, Value
from tests.rules.words import tool

from turnwise import (
    ChatDocument,
    Entity,
    ExceptionHandling,
    Task,
    ToolMessage,
    run_batch_function,
    run_batch_task_gen,
    run_batch_tasks,
)


def _task(*lines: Any, **more: Any) -> Task:
    return Cast({}).task("Inner", *lines, **more)


def _said(doc: ChatDocument | None) -> str:
    return f"{doc.metadata.sender.value}: {doc.content or '(empty)'}" if doc is not None else "nothing"


@done_by_a_handler("TASK-8", "User: go; LLM: {add}; Agent: 2; LLM: fine; done: False")
def a_task_may_be_gone_through_step_by_step() -> str:
    task = _task(tool("add", a=1), "fine", tools=[Add])
    seen = [_said(task.init("go")), *(_said(task.step()) for _ in range(3))]
    return "; ".join([*seen, f"done: {task.done()[0]}"]).replace(tool("add", a=1), "{add}")


@done_by_a_handler("TASK-8 DONE-7", "LLM: done; over: True; result User: (empty)")
def a_program_asks_itself_whether_the_task_is_over() -> str:
    task = _task("DONE")
    task.init("go")
    return f"{_said(task.step()).replace('DONE', 'done')}; over: {task.done()[0]}; result {_said(task.result())}"


@done_by_a_handler("TASK-9", "Agent: nothing; LLM: hello; pending User: go")
def one_responder_may_be_asked_without_taking_the_answer() -> str:
    task = _task("hello")
    task.init("go")
    asked = [f"Agent: {_said(task.response(Entity.AGENT))}", _said(task.response("llm"))]
    return "; ".join([*asked, f"pending {_said(task.pending_message)}"])


@done_by_a_handler("TASK-10", "Inner-3 says User: 2 of 1 messages; Inner has 0")
def a_clone_has_its_tools_and_an_empty_history() -> str:
    task = _task(tool("add", a=1), tools=[Add])
    clone = task.clone(3)
    result = clone.run("go", turns=2)
    told = sum(message.role.value == "user" for message in clone.agent.message_history)
    return f"{clone.name} says {_said(result)} of {told} messages; {task.name} has {len(task.agent.message_history)}"


@done_by_a_handler("TASK-10", "Inner-1/Sub: LLM: mine")
def the_sub_tasks_of_a_clone_are_clones() -> str:
    task = _task("TO[Sub]: ask", subs=[Cast({}).task("Sub", "mine")])
    clone = task.clone(1)
    shared = clone.sub_tasks[0] is task.sub_tasks[0] or clone.sub_tasks[0].agent is task.sub_tasks[0].agent
    sub = clone.sub_tasks[0]
    return f"{clone.name}/{sub.name}: {'shared' if shared else _said(sub.agent.llm_response('x'))}"


@done_by_a_handler("TASK-10 DONE-9", "User: you said 42")
def a_sub_task_addresses_a_clone_by_the_name_of_its_original() -> str:
    sub = Cast({}).task("Sub", "TO[Inner]: 42")
    return _said(_task("TO[Sub]: ask", lambda text: f"DONE you said {text}", subs=[sub]).clone(1).run("go", turns=4))


@done_by_a_handler("TASK-10 WHO-3", "Agent: 2")
def a_clone_addresses_itself_by_the_name_of_its_original() -> str:
    clone = _task(f"TO[Inner]: {tool('add', a=1)}", tools=[Add]).clone(1)
    clone.init("go")
    clone.step()
    return _said(clone.step())


@done_by_a_handler("TASK-11 TYPE-5", "12, None, Inner")
def a_task_of_a_type_returns_values_of_it() -> str:
    task = _task("DONE 12")
    number = task[int].run("go")
    return f"{number}, {_task('DONE twelve')[int].run('go')}, {task.name}"


@done_by_a_handler("LIMIT-9", "no session: done; killed: kill")
def a_session_of_this_process_may_be_killed() -> str:
    Task.kill_session("")
    free = _task("DONE").run("go", session_id="")

    def line(_: str) -> str:
        Task.kill_session("here")
        return "DONE"

    killed = _task(line).run("go", session_id="here")
    statuses = [doc.metadata.status.value for doc in (free, killed) if doc is not None and doc.metadata.status]
    return f"no session: {statuses[0]}; killed: {statuses[1]}".lower()


@done_by_a_handler("TASK-12 HIST-4", "caller: OK, root: FIXED_TURNS")
def a_task_may_be_run_as_somebodys_sub_task() -> str:
    caller = _task("never asked")
    sub = Cast({}).task("Sub", "TO[Inner]: for you")
    called, alone = sub.run("go", caller=caller, turns=1), sub.run("go", turns=1, allow_restart=True)
    statuses = [doc.metadata.status.value for doc in (called, alone) if doc is not None and doc.metadata.status]
    return f"caller: {statuses[0]}, root: {statuses[1]}"


# --- batches ---

_FIRST = ([None, 2, None], [None, None, 3])


def _lengths() -> Task:
    return _task(lambda text: f"DONE {len(text)}")


@done_by_a_handler("BATCH-1 BATCH-2", "[3, 5, 4] and 0 messages")
def a_batch_gives_results_in_the_order_of_the_items() -> str:
    task = _lengths()
    results = run_batch_tasks(task[int], ["one", "three", "four"])
    return f"{results} and {len(task.agent.message_history)} messages"


@done_by_a_handler("BATCH-1", "[3, 5, 4]")
def a_batch_may_go_side_by_side() -> str:
    return str(run_batch_tasks(_lengths()[int], ["one", "three", "four"], sequential=False, batch_size=2))


@done_by_a_handler("BATCH-3", "['none', 4, 'none']")
def maps_make_the_messages_and_the_results() -> str:
    results = run_batch_tasks(
        _lengths()[int],
        [0, 4, 0],
        input_map=lambda number: "x" * number,
        output_map=lambda result: "none" if result is None else result,
    )
    return str(results)


@done_by_a_handler("BATCH-4", "3 items, 1 result, of one that had something to say: True")
def the_first_result_may_end_a_batch() -> str:
    # Items race, so either of the last two may be first.
    found = run_batch_tasks(_lengths()[int], ["", "ab", "abc"], stop_on_first_result=True)
    results = [each for each in found if each is not None]
    return f"{len(found)} items, {len(results)} result, of one that had something to say: {found in _FIRST}"


def _failing(text: str) -> str:
    if text == "bad":
        raise LookupError("bad item")
    return "DONE"


@done_by_a_handler("BATCH-5", "none: True, False; exception: LookupError; raised: bad item")
def errors_of_a_batch_are_raised_returned_or_left_out() -> str:
    items = ["good", "bad"]
    nones = run_batch_tasks(_task(_failing), items, handle_exceptions=ExceptionHandling.RETURN_NONE)
    errors = run_batch_tasks(_task(_failing), items, handle_exceptions=ExceptionHandling.RETURN_EXCEPTION)
    try:
        run_batch_tasks(_task(_failing), items)
    except LookupError as error:
        raised = str(error)
    kept = ", ".join(str(doc is not None) for doc in nones)
    return f"none: {kept}; exception: {type(errors[1]).__name__}; raised: {raised}"


@done_by_a_handler("BATCH-6 LIMIT-1", "['0', '1'], FIXED_TURNS")
def each_item_may_have_a_task_of_its_own() -> str:
    made = run_batch_task_gen(lambda i: _task(str(i)), ["a", "b"], turns=1)
    first = made[0].metadata.status
    return f"{[doc.content for doc in made]}, {first.value if first else ''}"


@done_by_a_handler("BATCH-6", "[1, 4]")
def any_function_may_be_run_for_each_item() -> str:
    return str(run_batch_function(lambda number: number * number, [1, 2]))


# --- tools of functions, and in XML ---


def forecast(city: str, days: int = 1) -> str:
    """Look up the weather.

    Args:
        city: Where.
    """
    return f"{city}: sun for {days} days"


@scenario(
    "TOOL-10",
    """
    Boss LLM: {forecast city=Rome}
    Boss Agent: Rome: sun for 1 days
    Boss LLM: {forecast days=2}
    Boss Agent: ...`forecast`...`city`...
    Boss = FIXED_TURNS
    => ...
    """,
    turns=4,
)
def a_function_may_be_a_tool(cast: Cast) -> Task:
    lines = tool("forecast", city="Rome"), tool("forecast", days=2)
    return cast.task("Boss", *lines, tools=[ToolMessage.from_function(forecast)])


async def _fetch(url: str) -> dict[str, str]:
    """Fetch a page."""
    return {"page": url}


@scenario(
    "TOOL-10 HANDLE-7 HANDLE-4",
    """
    Boss LLM: {fetch url=here}
    Boss Agent: {"page": "here"}
    Boss = FIXED_TURNS
    => dict {'page': 'here'}
    """,
    turns=2,
    return_type=dict,
)
def an_async_function_may_be_a_tool_everywhere(cast: Cast) -> Task:
    made = ToolMessage.from_function(_fetch, name="fetch")
    return cast.task("Boss", tool("fetch", url="here"), tools=[made, Value])
