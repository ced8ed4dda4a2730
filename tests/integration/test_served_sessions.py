"""Runs of a session: each begins where the one before ended, and none begins before that."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import BaseModel
from tests.support.either_database import database, postgres_url
from tests.support.kept_values import kept
from tests.support.served_parts import Desk
from tests.support.store_parts import remembered

from turnwise import App, ChatAgent, ChatAgentConfig, Entity, MockLMConfig, RewindTool, Task, ToolMessage
from turnwise.base.ids import new_id
from turnwise.bus.envelope import AskEnvelope, MoveEnvelope
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import NewHistory, NewRun

__all__ = ["database", "postgres_url"]


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


class Note(ToolMessage):
    request: str = "note"
    purpose: str = "To note something down."


class Clerk(ChatAgent):
    """Notes how often it was asked to, which is what lasts of it."""

    class State(BaseModel):
        notes: int = 0

    state: State

    def note(self, _tool: Note) -> str:
        self.state.notes += 1
        return f"{self.state.notes} noted"


def _app(task: Callable[[], Task]) -> App:
    app = App("tests")
    app.task(name="desk")(task)
    return app


def _clerk(restart: bool = False) -> Task:
    """A model that has each message noted, and is then done."""
    model = MockLMConfig(response_fn=lambda said: f"DONE {said}" if "noted" in said else '{"request": "note"}')
    agent = Clerk(ChatAgentConfig(name="desk", llm=model))
    agent.enable_message(Note)
    return Task(agent, interactive=False, restart=restart)


def _asking() -> Task:
    return Task(_agent("which one?"), interactive=True, restart=False)


def _agent(answer: str | Callable[[str], str]) -> ChatAgent:
    model = MockLMConfig(default_response=answer) if isinstance(answer, str) else MockLMConfig(response_fn=answer)
    return ChatAgent(ChatAgentConfig(name="desk", llm=model))


def _said(store: Store, run_id: str) -> list[str]:
    """Return what the desk remembers as the run sees it, or what a completed run left to its session."""
    run = store.inspector.run(run_id)
    if run.conversation_id is None or not run.ended:
        return [body.get("content", "") for body in remembered(store, run, "desk")]
    return [row.body.get("content", "") for row in store.inspector.history(run.conversation_id, "desk")]


def _result(desk: Desk, run_id: str) -> str:
    return str((desk.go_on(run_id).result or {}).get("content"))


def _woken(desk: Desk) -> list[str]:
    """The runs that somebody asked a coordinator to move, which forgets them."""
    woken = []
    while desk.bus.waiting("coordinator"):
        work = desk.bus._take(["coordinator"], threading.Event())
        assert isinstance(work, MoveEnvelope)
        woken.append(work.run)
    return woken


def test_a_run_goes_on_with_history_and_state_of_the_run_before(store: Store) -> None:
    with Desk(store, _app(_clerk)) as desk:
        session = new_id("session")
        first = desk.submit("desk", "one", session_id=session)
        assert _result(desk, first) == "1 noted"

        with Desk(store, desk.app, beside=desk) as other:  # a process that knows nothing of the first run
            second = other.submit("desk", "two", session_id=session)
            assert _result(other, second) == "2 noted"

        third = desk.submit("desk", "three", session_id=session)  # and one whose memory is a run old
        assert _result(desk, third) == "3 noted"
        alone = desk.submit("desk", "four")
        assert _result(desk, alone) == "1 noted"

        assert _said(store, third)[::4] == ["one", "two", "three"]
        assert len(_said(store, third)) == 12
        assert len(_said(store, alone)) == 4


def test_a_task_that_restarts_begins_each_run_of_a_session_afresh(store: Store) -> None:
    with Desk(store, _app(lambda: _clerk(restart=True))) as desk:
        session = new_id("session")
        for text in ("one", "two"):
            run = desk.submit("desk", text, session_id=session)
            assert _result(desk, run) == "1 noted"

        assert _said(store, run)[0] == "two"
        assert len(_said(store, run)) == 4
        [task] = store.tenant(DEFAULT_TENANT).session(session).tasks  # which only groups
        assert (task.runs, task.agents) == (2, ())
        store.tenant(DEFAULT_TENANT).delete_session(session)
        assert len(_said(store, run)) == 4


def test_a_run_without_a_message_goes_on_from_the_last_one_as_in_one_process(store: Store) -> None:
    def task() -> Task:
        root = Task(_agent(lambda said: f"you said {said}"), interactive=False, restart=False, single_round=True)
        root.add_sub_task(Task(_agent(lambda said: f"hm, {said}"), name="helper", interactive=False, single_round=True))
        return root

    local = task()
    expected = [getattr(local.run(message), "content", None) for message in ("one", None, None)]
    with Desk(store, _app(task)) as desk:
        session = new_id("session")
        served = []
        for message in ("one", None, None):
            if message is None:
                new = NewRun(id=new_id("run"), task="desk", version="1", message={}, session_id=session)
                run = store.tenant(DEFAULT_TENANT).submit(new)[0].id
            else:
                run = desk.submit("desk", message, session_id=session)
            served.append((desk.go_on(run).result or {}).get("content"))

    assert served == expected


def test_a_model_may_rewind_what_it_said_in_an_earlier_run(store: Store) -> None:
    rewind = '{"request": "rewind_tool", "n": 1, "content": "better"}'

    def task() -> Task:
        agent = _agent(lambda said: rewind if said == "think again" else "DONE well")
        agent.enable_message(RewindTool)
        return Task(agent, interactive=False, restart=False, done_if_response=[Entity.AGENT])

    local = task()
    local.run("hello")
    expected = local.run("think again")
    with Desk(store, _app(task)) as desk:
        session = new_id("session")
        first = desk.go_on(desk.submit("desk", "hello", session_id=session))
        second = desk.go_on(desk.submit("desk", "think again", session_id=session))

    assert second.result is not None
    assert first.result is not None
    assert expected is not None
    assert second.result["content"] == expected.content == "better"
    assert _said(store, second.id) == ["hello", "better"]
    # It answers what its older self answered: a message of the first run.
    rewound = next(body for body in store.inspector.transcript_documents(second.id) if body["content"] == "better")
    assert store.inspector.document(second.id, rewound["metadata"]["parent_id"]) is None
    assert store.inspector.document(first.id, rewound["metadata"]["parent_id"]) is not None


def test_a_run_waits_until_the_one_before_has_ended_and_is_woken_then(store: Store) -> None:
    with Desk(store, _app(_asking)) as desk:
        session = new_id("session")
        first, second, third = (desk.submit("desk", text, session_id=session) for text in ("one", "two", "three"))
        assert desk.go_on(first).status == "waiting"

        for run, before in ((third, second), (second, first)):
            waiting = desk.go_on(run)
            assert (waiting.status, kept(waiting.waiting_for)) == ("queued", {"kind": "session", "run": before})
        assert _said(store, first) == ["one", "which one?"]
        assert second not in store.coordinator.due_moves(limit=1000, patience=0)

        desk.store.tenant(DEFAULT_TENANT).request_cancel(first)
        _woken(desk)
        assert desk.go_on(first).status == "cancelled"
        assert _woken(desk) == [second]
        assert desk.go_on(second).status == "waiting"
        assert _said(store, second) == ["two", "which one?"]


def test_a_run_whose_waking_was_lost_is_found_by_a_sweep(store: Store) -> None:
    with Desk(store, _app(_asking)) as desk:
        session = new_id("session")
        first, second = (desk.submit("desk", text, session_id=session) for text in ("one", "two"))
        for run in (first, second):
            desk.go_on(run)
        desk.store.tenant(DEFAULT_TENANT).request_cancel(first)
        with store.coordinator.locked(first) as transaction:  # by a coordinator that dies before it can wake anybody
            desk.coordinator._mover.move(transaction)

        desk.sweep()

        assert store.inspector.run(second).status == "running"


@pytest.mark.parametrize(("ended_by", "status"), [("KILL", "cancelled"), ("TIMEOUT", "failed")])
def test_a_run_that_waits_for_another_can_end_and_leaves_the_conversation_alone(
    store: Store, ended_by: str, status: str
) -> None:
    with Desk(store, _app(lambda: Task(_agent("which one?"), interactive=True, restart=True))) as desk:
        session = new_id("session")
        first = desk.submit("desk", "one", session_id=session)
        second = desk.submit("desk", "two", session_id=session, deadline=0.001 if ended_by == "TIMEOUT" else None)
        third = desk.submit("desk", "three", session_id=session)
        for run in (first, third):
            desk.go_on(run)
        if ended_by == "KILL":
            desk.store.tenant(DEFAULT_TENANT).request_cancel(second)
        _woken(desk)

        ended = desk.go_on(second)

        assert (ended.status, ended.status_code, ended.started_at) == (status, ended_by, None)
        assert desk.events(second) == ["run.accepted", f"run.{status}"]
        assert _woken(desk) == [third]
        assert kept(desk.go_on(third).waiting_for) == {"kind": "session", "run": first}
        assert _said(store, first) == ["one", "which one?"]


def _fickle() -> Task:
    """A clerk whose model does as it is told; it can fail after a note, or have all forgotten first."""

    def answer(said: str) -> str:
        if said == "break down":
            raise RuntimeError("no model today")
        return "DONE well" if said == "go" else '{"request": "note"}'

    class Fickle(Clerk):
        def note(self, _tool: Note) -> str:
            asked = self.message_history[-2].content
            if "forget" in asked:
                self.clear_history(0)
            if "rewind" in asked:
                self.clear_history(2)
            self.state.notes += 1
            return "break down" if "fail" in asked else "go"

    agent = Fickle(ChatAgentConfig(name="desk", llm=MockLMConfig(response_fn=answer)))
    agent.enable_message(Note)
    return Task(agent, interactive=False, restart=False)


_NOTED = ['{"request": "note"}', "go", "DONE well"]


@pytest.mark.parametrize("message", ["fail", "forget, then fail", "rewind, then fail"])
@pytest.mark.parametrize("seen_by", ["all workers", "another worker"])
def test_a_run_that_fails_leaves_the_conversation_and_the_state_as_they_were(
    store: Store, message: str, seen_by: str
) -> None:
    # given: workers that remember histories
    with Desk(store, _app(_fickle)) as desk, Desk(store, _app(_fickle), beside=desk) as other:
        session = new_id("session")
        assert desk.go_on(desk.submit("desk", "one", session_id=session)).status == "completed"
        shown = store.tenant(DEFAULT_TENANT).session(session).tasks[0].agents

        # when
        failed = desk.go_on(desk.submit("desk", message, session_id=session))
        waiting = other.submit("desk", "two", session_id=session)

        # then
        assert (failed.status, kept(failed.error)["message"]) == ("failed", "no model today")
        assert store.tenant(DEFAULT_TENANT).session(session).tasks[0].agents == shown
        assert message in str(store.inspector.transcript_documents(failed.id))  # its own record is kept
        next_one = desk if seen_by == "all workers" else other
        assert next_one.go_on(waiting).status == "completed"
        assert _said(store, waiting) == ["one", *_NOTED, "two", *_NOTED]
        assert desk.go_on(desk.submit("desk", "three", session_id=session)).status == "completed"
        assert _said(store, waiting) == ["one", *_NOTED, "two", *_NOTED, "three", *_NOTED]
        assert [agent.state for agent in store.tenant(DEFAULT_TENANT).session(session).tasks[0].agents] == [
            {"notes": 3}
        ]


def test_what_a_handler_forgets_is_forgotten_once_its_run_completes(store: Store) -> None:
    with Desk(store, _app(_fickle)) as desk:
        session = new_id("session")
        desk.go_on(desk.submit("desk", "one", session_id=session))
        cleared = desk.submit("desk", "forget", session_id=session)
        assert desk.go_on(cleared).status == "completed"
        assert _said(store, cleared) == ["go", "DONE well"]

        desk.go_on(desk.submit("desk", "two", session_id=session))
        rewound = desk.submit("desk", "rewind", session_id=session)
        assert desk.go_on(rewound).status == "completed"
        assert _said(store, rewound) == ["go", "go", "DONE well"]


def test_a_run_that_waits_is_woken_by_one_that_fails_and_goes_on_from_before_it(store: Store) -> None:
    with Desk(store, _app(_fickle)) as desk:
        session = new_id("session")
        desk.go_on(desk.submit("desk", "one", session_id=session))
        failing, waiting = (desk.submit("desk", text, session_id=session) for text in ("fail", "two"))
        desk.coordinator.move(waiting)
        _woken(desk)

        assert desk.go_on(failing).status == "failed"

        assert _woken(desk)[-1] == waiting
        assert desk.go_on(waiting).status == "completed"
        assert _said(store, waiting) == ["one", *_NOTED, "two", *_NOTED]


def test_a_cancelled_run_leaves_the_conversation_as_it_was_also_while_its_worker_is_at_work(store: Store) -> None:
    with Desk(store, _app(_fickle), moves="coordinator") as desk:
        session = new_id("session")
        first = desk.submit("desk", "one", session_id=session)
        desk.go_on(first)
        run = desk.submit("desk", "forget", session_id=session)
        asked = desk.coordinator.move(run)
        assert desk.answer(asked)
        asked = desk.coordinator.move(run)
        assert desk.answer(asked)  # has cleared the history
        late = store.worker.claim(desk.coordinator.move(run).ask.queue, _worker(store, desk), "1")  # type: ignore[union-attr]
        assert late is not None

        store.tenant(DEFAULT_TENANT).request_cancel(run)
        assert desk.go_on(run).status == "cancelled"
        reply = Reply(kind="nothing", history=(NewHistory(role="user", body={"content": "too late"}),), state={})
        assert not store.worker.reply(late, reply)

        assert _said(store, first) == ["one", *_NOTED]
        assert [agent.state for agent in store.tenant(DEFAULT_TENANT).session(session).tasks[0].agents] == [
            {"notes": 1}
        ]


def _worker(store: Store, desk: Desk) -> str:
    return store.process.register_worker(WorkerInfo(kind="llm", queues=(desk.own,), host="here", pid=1, version="1"))


def test_runs_submitted_at_once_never_interleave_whoever_moves_them(store: Store) -> None:
    def task() -> Task:
        model = MockLMConfig(response_fn=lambda said: "DONE" if said == "go" else f"heard {said}")
        agent = ChatAgent(ChatAgentConfig(name="desk", llm=model, handle_llm_no_tool="go"))
        return Task(agent, interactive=False, restart=False)

    session, texts = new_id("session"), [str(n) for n in range(6)]
    with Desk(store, _app(task)) as one, Desk(store, _app(task), beside=one) as two, ThreadPoolExecutor(4) as threads:
        runs = list(threads.map(lambda text: one.submit("desk", text, session_id=session), texts))

        def work(desk: Desk) -> None:
            permits: list[AskEnvelope] = []
            while not all(store.inspector.run(run).ended for run in runs):
                asks = [desk.coordinator.move(run).ask for run in runs]
                permits += [ask for ask in asks if ask is not None]
                # A claim gives up on a run that others hold.
                permits = [permit for permit in permits if not desk.responders.answer(permit)]

        for done in [threads.submit(work, desk) for desk in (one, two, one, two)]:
            done.result(60)

    in_order = sorted((store.inspector.run(run) for run in runs), key=lambda run: run.session_no or 0)
    assert {run.status for run in in_order} == {"completed"}
    spoken = [run.message["content"] for run in in_order]
    assert _said(store, runs[0]) == [said for text in spoken for said in (text, f"heard {text}", "go", "DONE")]
