"""Failed runs that go on from where they failed."""

from __future__ import annotations

import pytest
from tests.e2e.waiting import until
from tests.support.kept_values import kept
from tests.support.past_parts import TASK, Stage, told
from tests.support.webhook_parts import new_webhook

from turnwise import ChatAgent, ChatAgentConfig, ChatDocument, LLMResponse, MockLMConfig, Task, ToolMessage
from turnwise.base.ids import new_id
from turnwise.errors import ConflictError
from turnwise.record.past.private_record import PrivateRecord
from turnwise.record.past.retrying import RetryLimits
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.outcomes import Reply
from turnwise.serving.replay import replay
from turnwise.serving.stop_reason import stop_reason


class Faults:
    """The faults that last until they are mended, and the number of calls of each."""

    def __init__(self) -> None:
        self.broken: set[str] = set()
        self.calls: list[str] = []

    def meet(self, name: str) -> None:
        self.calls.append(name)
        if name in self.broken:
            raise RuntimeError(f"{name} is broken")


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "To look."


def desk(faults: Faults, *, restart: bool = True) -> Task:
    """A model that uses a tool, then says DONE; a sub-task that answers first."""

    class Looking(ChatAgent):
        def look(self, _tool: Look) -> str:
            faults.meet("handler")
            return "seen"

    class Checking(Task):
        def result(self, status: object = None) -> ChatDocument | None:
            faults.meet("result")
            return super().result()

    def says(prompt: str) -> LLMResponse:
        faults.meet("model")
        return LLMResponse(message="DONE it is there" if "seen" in prompt else '{"request": "look"}')

    agent = Looking(ChatAgentConfig(name="desk", llm=MockLMConfig(response_fn=says)))
    agent.enable_message(Look)
    return Checking(agent, name="desk", interactive=False, restart=restart)


def the_stage(store: Store, faults: Faults, *, with_reply: bool = False, restart: bool = True) -> Stage:
    return Stage(store, lambda: desk(faults, restart=restart), with_reply=with_reply)


@pytest.mark.parametrize("with_reply", [False, True])
@pytest.mark.parametrize("broken", ["model", "handler"])
def test_the_ask_that_failed_is_asked_again_and_the_rest_is_kept(store: Store, broken: str, with_reply: bool) -> None:
    # given
    faults = Faults()
    whole = told(store, the_stage(store, Faults()).play("go"))
    stage = the_stage(store, faults, with_reply=with_reply)
    faults.broken.add(broken)
    failed = stage.play("go")
    assert (failed.status, failed.status_code, kept(failed.error)["type"]) == ("failed", "ERROR", "RuntimeError")
    before = len(faults.calls)

    # when
    faults.broken.clear()
    stage.said = {place: said for place, said in stage.said.items() if not _failed(said)}
    run, ask = store.tenant(DEFAULT_TENANT).retry(failed.id)

    # then
    assert ask is not None
    assert (run.status, run.awaiting, run.error, run.finished_at) == ("running", ask.id, None, None)
    assert (ask.status, ask.attempts) == ("runnable", 0)
    ended = stage.go_on(run.id)
    assert ended.status == "completed"
    assert told(store, ended) == whole
    assert faults.calls[before] == broken  # what came before was not called again
    assert len(faults.calls) == before + {"model": 4, "handler": 3}[broken]
    types = [event.type for event in store.inspector.events(run.id)]
    assert types[types.index("run.failed") :][:2] == ["run.failed", "run.retried"]
    with PrivateRecord() as scratch:
        assert replay(stage.app, store.inspector.export(run.id), scratch).same


def _failed(said: object) -> bool:
    return isinstance(said, Reply) and said.kind == "error"


@pytest.mark.parametrize("broken", ["model", "handler"])
def test_a_fork_where_a_retried_ask_had_failed_ends_as_the_run_did_there(store: Store, broken: str) -> None:
    # given a run that failed twice and was retried each time, at last to its end
    faults = Faults()
    stage = the_stage(store, faults)
    faults.broken.add(broken)
    run = stage.play("go")
    places = [run.last_seq]
    store.tenant(DEFAULT_TENANT).retry(run.id)
    places.append(stage.go_on(run.id).last_seq)
    faults.broken.clear()
    stage.said = {place: said for place, said in stage.said.items() if not _failed(said)}
    store.tenant(DEFAULT_TENANT).retry(run.id)
    assert stage.go_on(run.id).status == "completed"

    for at in (seq for end in places for seq in (end - 1, end)):
        # when
        fork = stage.fork(run.id, at)

        # then it has the answer that counted there, and can be retried as well
        ended = stage.waiting(fork.id)
        assert (ended.status, kept(ended.error)["message"]) == ("failed", f"{broken} is broken")
        store.tenant(DEFAULT_TENANT).retry(fork.id)
        assert stage.go_on(fork.id).status == "completed"


def test_the_time_limit_that_ended_a_retried_run_is_that_of_the_retry(store: Store) -> None:
    # given
    stage, tenant = the_stage(store, Faults()), store.tenant(DEFAULT_TENANT)
    run_id = stage.submit("go", deadline=0.2)
    stage.go_on(run_id, 1)
    _runs_out_of_time(stage, run_id)

    # when
    tenant.retry(run_id, RetryLimits(deadline=0.1))
    _runs_out_of_time(stage, run_id)

    # then
    reason = stop_reason(tenant.situation(run_id))
    assert reason is not None
    assert (reason.limit, reason.value) == ("time", 0.1)


def _runs_out_of_time(stage: Stage, run_id: str) -> None:
    """Wait for the deadline."""
    until(lambda: stage.waiting(run_id).ended, "the deadline to pass", every=0.01)
    assert stage.waiting(run_id).status_code == "TIMEOUT"


def test_a_run_that_no_retry_continues_is_not_told_to_wait_for_room(store: Store) -> None:
    stage = the_stage(store, Faults())
    completed = stage.play("go")
    stage.submit("another, which takes the room")

    with pytest.raises(ConflictError) as refused:
        store.tenant(DEFAULT_TENANT, max_unfinished_runs=1).retry(completed.id)

    assert refused.value.code == "not_failed"


@pytest.mark.parametrize("with_reply", [False, True])
def test_a_move_that_failed_is_made_again_with_the_same_answer(store: Store, with_reply: bool) -> None:
    faults = Faults()
    whole = told(store, the_stage(store, Faults()).play("go"))
    stage = the_stage(store, faults, with_reply=with_reply)
    faults.broken.add("result")
    failed = stage.play("go")
    assert (failed.status_code, kept(failed.error)["place"]) == ("ERROR", "move")

    faults.broken.clear()
    calls = faults.calls.count("model")
    run, ask = store.tenant(DEFAULT_TENANT).retry(failed.id)

    assert ask is None
    assert run.move_due_at is not None
    assert told(store, stage.go_on(run.id)) == whole
    assert faults.calls.count("model") == calls  # nobody was asked anything again
    with PrivateRecord() as scratch:
        difference = replay(stage.app, store.inspector.export(run.id), scratch).difference
    assert difference is not None  # what failed once does not any more
    assert difference.recorded is not None
    assert difference.recorded["type"] == "run.failed"


def test_a_run_that_was_out_of_time_has_its_time_again(store: Store) -> None:
    stage = the_stage(store, Faults())
    run_id = stage.submit("go", deadline=1_000.0)
    stage.go_on(run_id, 1)
    with store.coordinator.locked(run_id) as transaction:
        transaction.amend(deadline_at=transaction.now - 1)
    late = stage.go_on(run_id)
    assert (late.status, late.status_code) == ("failed", "TIMEOUT")

    run, _ = store.tenant(DEFAULT_TENANT).retry(run_id, RetryLimits(deadline=500.0))

    assert run.deadline_at is not None
    with store.coordinator.locked(run_id) as transaction:
        assert 400 < run.deadline_at - transaction.now <= 500
    assert stage.go_on(run_id).status == "completed"
    with PrivateRecord() as scratch:
        assert replay(stage.app, store.inspector.export(run_id), scratch).same


def test_what_has_not_failed_is_not_retried(store: Store) -> None:
    stage = the_stage(store, Faults())
    run_id = stage.submit("go")
    with pytest.raises(ConflictError, match="has not failed, it is queued") as caught:
        store.tenant(DEFAULT_TENANT).retry(run_id)
    assert caught.value.code == "not_failed"

    stage.go_on(run_id)
    with pytest.raises(ConflictError, match="has not failed, it is completed"):
        store.tenant(DEFAULT_TENANT).retry(run_id)


def test_a_run_whose_rules_ended_it_is_not_retried(store: Store) -> None:
    silent = Stage(store, lambda: Task(ChatAgent(ChatAgentConfig(llm=None)), interactive=False, max_stalled_steps=1))
    run = silent.play("go")
    assert run.status_code == "STALLED"

    with pytest.raises(ConflictError, match="STALLED: the same answers would end it again; fork it") as caught:
        store.tenant(DEFAULT_TENANT).retry(run.id)
    assert caught.value.code == "not_retryable"


def test_a_run_of_a_session_goes_on_with_what_it_had_added_unless_the_session_went_on(store: Store) -> None:
    # given
    faults, session = Faults(), new_id("session")
    stage = the_stage(store, faults, restart=False)
    stage.play("go", session_id=session)
    faults.broken.add("model")
    stage.said.clear()
    failed = stage.play("go again", session_id=session)

    # when
    faults.broken.clear()
    stage.said.clear()
    store.tenant(DEFAULT_TENANT).retry(failed.id)
    ended = stage.go_on(failed.id)

    # then
    assert ended.status == "completed"
    [task] = store.tenant(DEFAULT_TENANT).session(session).tasks
    assert (task.task, task.agents[0].history_len) == (TASK, 8)

    # when another run of the session begins
    faults.broken.add("model")
    stage.said.clear()
    other = stage.play("and again", session_id=session)
    faults.broken.clear()
    stage.said.clear()
    later = stage.play("one more", session_id=session)

    # then
    with pytest.raises(ConflictError, match=f"has continued with the run {later.id}") as caught:
        store.tenant(DEFAULT_TENANT).retry(other.id)
    assert caught.value.code == "session_went_on"


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("begun_anew", [False, True])
def test_a_run_whose_session_was_deleted_is_not_retried(store: Store, begun_anew: bool, restart: bool) -> None:
    # given
    faults, session, tenant = Faults(), new_id("s"), store.tenant(DEFAULT_TENANT)
    stage = the_stage(store, faults, restart=restart)
    stage.play("go", session_id=session)
    faults.broken.add("model")
    stage.said.clear()
    failed = stage.play("go again", session_id=session)
    assert failed.status == "failed"
    tenant.delete_session(session)
    faults.broken.clear()
    stage.said.clear()
    if begun_anew:
        stage.play("go", session_id=session)

    # then
    with pytest.raises(ConflictError, match=f"the session '{session}' .* was deleted; submit the message") as caught:
        tenant.retry(failed.id)
    assert caught.value.code == "past_unknown"
    assert store.inspector.run(failed.id) == failed


def test_a_run_that_could_not_begin_begins_anew(store: Store) -> None:
    faults = Faults()
    stage = the_stage(store, faults)
    run_id = stage.submit("go")
    stage.app._factories[TASK] = lambda: faults.meet("factory") or desk(faults)  # type: ignore[func-returns-value]
    faults.broken.add("factory")
    assert stage.go_on(run_id).status_code == "ERROR"

    faults.broken.clear()
    run, ask = store.tenant(DEFAULT_TENANT).retry(run_id)

    assert (run.status, run.started_at, ask) == ("queued", None, None)
    assert stage.go_on(run_id).status == "completed"


def test_it_is_the_human_s_turn_again(store: Store) -> None:
    stage = Stage(store, lambda: Task(ChatAgent(ChatAgentConfig(llm=MockLMConfig())), interactive=True), ("q",))
    run_id = stage.submit("go", deadline=1_000.0)
    stage.go_on(run_id, 1)
    asked = stage.waiting(run_id)
    assert kept(asked.waiting_for)["kind"] == "human"
    _is_out_of_time(store, stage, run_id)

    run, ask = store.tenant(DEFAULT_TENANT).retry(run_id, RetryLimits(deadline=1_000.0))

    assert ask is not None
    assert (run.status, ask.status, ask.id) == ("waiting", "open", asked.awaiting)
    assert stage.go_on(run_id).status_code == "USER_QUIT"


def _is_out_of_time(store: Store, stage: Stage, run_id: str) -> None:
    with store.coordinator.locked(run_id) as transaction:
        transaction.amend(deadline_at=transaction.now - 1)
    assert stage.waiting(run_id).status_code == "TIMEOUT"


def test_receivers_are_told_of_each_retry_that_asks_a_person_again(store: Store) -> None:
    stage = Stage(store, lambda: Task(ChatAgent(ChatAgentConfig(llm=MockLMConfig())), interactive=True), ("q",))
    tenant = store.tenant(DEFAULT_TENANT)
    hook = tenant.webhooks.create_webhook(new_webhook("human.asked")).id
    run_id = stage.submit("go", deadline=1_000.0)
    stage.go_on(run_id, 1)
    times = [stage.waiting(run_id).created_at]

    for _ in range(2):
        _is_out_of_time(store, stage, run_id)
        _, ask = tenant.retry(run_id, RetryLimits(deadline=1_000.0))
        assert ask is not None
        times.append(ask.created_at)

    assert times == sorted(set(times))  # it is a question of the time when it was asked again
    sent = tenant.webhooks.deliveries(run_id=run_id, webhook_id=hook)[::-1]
    tenant.webhooks.delete_webhook(hook)
    events = store.inspector.events(run_id)
    asked = next(event for event in events if event.type == "human.asked")
    assert [(one.type, one.seq) for one in sent] == [("human.asked", asked.seq)] * 3
    assert [one.created_at for one in sent] == [asked.at, *times[1:]]
    retried = [event.seq for event in events if event.type == "run.retried"]
    places = [f"{asked.seq}", *(f"{asked.seq}_{seq}" for seq in retried)]
    assert [one.id for one in sent] == [f"msg_{run_id}_{place}_{hook}" for place in places]


def test_receivers_are_not_told_of_a_person_by_a_retry_that_asks_none(store: Store) -> None:
    faults = Faults()
    stage, tenant = the_stage(store, faults), store.tenant(DEFAULT_TENANT)
    hook = tenant.webhooks.create_webhook(new_webhook("human.asked")).id
    faults.broken.add("model")
    run = stage.play("go")
    before = store.inspector.table("asks")
    tenant.retry(run.id)
    assert tenant.webhooks.deliveries(run_id=run.id, webhook_id=hook) == []
    tenant.webhooks.delete_webhook(hook)
    asked = {row["id"]: row["created_at"] for row in before if row["run_id"] == run.id}
    again = {row["id"]: row["created_at"] for row in store.inspector.table("asks") if row["run_id"] == run.id}
    assert asked == again  # their place in the queue
