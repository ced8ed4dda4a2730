"""A provider that does not answer is waited for, and a permanent error is not: in a script and served."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import SecretStr
from tests.e2e.waiting import until
from tests.integration.test_retries import FAILING, HOURS, Model, agent_of, app_of, deferrals, ended, serving
from tests.support.kept_values import kept
from tests.support.raw_model import RawAnswer, raw_model
from tests.support.served_parts import Desk
from tests.support.store_parts import new_worker

from turnwise import ChatAgent, ChatAgentConfig, OpenAIGPTConfig, RetryPolicy, StatusCode, Task
from turnwise.errors import ModelUnavailableError
from turnwise.record.database.schema import asks, runs
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import Claim
from turnwise.serving.moves.permits import permit
from turnwise.testing.fake_llm.answer import ScriptedFault

__all__ = ["serving"]

# More failures than any policy has tries.
LONG = 9
QUICK = RetryPolicy(first_wait=0.001, longest_outage_wait=0.005, longest_wait=0.005)


@pytest.mark.parametrize("fault", ["unavailable", "broken"])
def test_a_served_run_outlasts_an_outage(serving: Any, store: Store, fault: str) -> None:
    model = Model(FAILING[fault], times=LONG)
    server = serving(model)
    with Desk(store, app_of(lambda: agent_of(server, retry=QUICK))) as desk:
        run = ended(desk, desk.submit("desk", max_tokens=100_000))
        put_off = deferrals(desk, run.id)

    assert (run.status, run.error) == ("completed", None)
    assert [data["attempt"] for data in put_off] == list(range(1, LONG + 1))
    assert {data["waiting_for"]["kind"] for data in put_off} == {"outage"}
    assert not run.reserved_tokens and not run.reserved_cost
    assert model.prompts[0] == model.prompts[-1]


_HTML = b"<!doctype html><title>Welcome</title>"
_EVENTS = {"content-type": "text/event-stream"}


@pytest.mark.parametrize(
    "given",
    [
        RawAnswer(headers={"content-type": "text/html"}, pieces=(_HTML,)),
        RawAnswer(pieces=(b'{"error": {"message": "quota"}}',)),
        RawAnswer(headers=_EVENTS, pieces=(b"data: [1, 2]\n\n",)),
        RawAnswer(headers=_EVENTS, pieces=(b"data: " + _HTML + b"\n\n",)),
    ],
)
def test_an_answer_that_is_none_is_no_outage(store: Store, given: RawAnswer) -> None:
    asked: list[tuple[str, dict[str, str]]] = []
    stream = given.headers == _EVENTS
    with raw_model(lambda _: given, asked) as url:
        llm = OpenAIGPTConfig(api_base=url, api_key=SecretStr("k"), stream=stream, timeout=30)
        agent = partial(ChatAgent, ChatAgentConfig(name="desk", llm=llm, retry=QUICK))
        with Desk(store, app_of(agent)) as desk:
            run = ended(desk, desk.submit("desk"))

    assert (run.status, len(asked)) == ("failed", 5)
    assert run.error is not None and (run.error.kind, run.error.code) == ("unavailable", "model_unavailable")


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_permanent_error_ends_a_served_run_at_once(serving: Any, store: Store, status: int) -> None:
    model = Model(ScriptedFault(status=status), times=100)
    server = serving(model)
    with Desk(store, app_of(lambda: agent_of(server, retry=QUICK))) as desk:
        run = ended(desk, desk.submit("desk"))

    assert (run.status, len(model.prompts)) == ("failed", 1)
    assert run.error is not None and run.error.kind == "request"


@pytest.mark.parametrize(
    ("policy", "settings", "calls"),
    [
        (QUICK, {"on_outage": "fail"}, 5),
        (RetryPolicy(tries=2, first_wait=0.001), {}, 2),
        (RetryPolicy(on_outage="fail", first_wait=0.001, longest_wait=0.005), {}, 5),
        (RetryPolicy.NEVER, {}, 1),
    ],
)
def test_a_setting_or_a_policy_has_a_run_fail_instead(
    serving: Any, store: Store, policy: RetryPolicy, settings: dict[str, Any], calls: int
) -> None:
    model = Model(FAILING["unavailable"], times=100)
    server = serving(model)
    with Desk(store, app_of(lambda: agent_of(server, retry=policy)), **settings) as desk:
        run = ended(desk, desk.submit("desk"))

    assert (run.status, len(model.prompts)) == ("failed", calls)
    assert run.error is not None and run.error.kind == "unavailable"


def _deadline_passes(store: Store, run_id: str) -> None:
    with store.database.begin() as connection:
        connection.execute(sa.update(runs).where(runs.c.id == run_id).values(deadline_at=1.0))


def test_a_deadline_ends_the_wait_with_an_error_of_its_own_kind(serving: Any, store: Store) -> None:
    server = serving(Model(FAILING["unavailable"], times=100))
    patient = RetryPolicy(first_wait=HOURS, longest_outage_wait=HOURS)
    with Desk(store, app_of(lambda: agent_of(server, retry=patient))) as desk:
        run_id = desk.submit("desk", deadline=HOURS)
        moved = desk.coordinator.move(run_id)
        assert moved.ask is not None and desk.responders.answer(moved.ask)
        assert store.inspector.run(run_id).status == "waiting"
        _deadline_passes(store, run_id)
        run = desk.coordinator.move(run_id).run

    assert (run.status, run.status_code) == ("failed", "TIMEOUT")
    assert run.error is not None
    assert (run.error.kind, run.error.code) == ("unavailable", "model_unavailable")
    assert "the deadline passed while the provider of" in run.error.message


def _out_of_time_while_it_looks(desk: Desk, store: Store, run_id: str) -> Claim:
    moved = desk.coordinator.move(run_id)
    assert moved.ask is not None and desk.responders.answer(moved.ask)
    with store.database.begin() as connection:
        connection.execute(sa.update(asks).where(asks.c.run_id == run_id).values(due_at=None))
    looking = store.worker.claim(moved.ask.queue, new_worker(store, moved.ask.queue))
    assert looking is not None and kept(store.inspector.run(run_id).waiting_for)["kind"] == "llm"
    _deadline_passes(store, run_id)
    return looking


def test_a_deadline_that_passes_while_the_run_looks_is_told_as_an_outage(serving: Any, store: Store) -> None:
    server = serving(Model(FAILING["unavailable"], times=100))
    with Desk(store, app_of(lambda: agent_of(server, retry=QUICK))) as desk:
        run_id = desk.submit("desk", deadline=HOURS)
        _out_of_time_while_it_looks(desk, store, run_id)
        run = desk.coordinator.move(run_id).run

    assert (run.status, run.status_code) == ("failed", "TIMEOUT")
    assert run.error is not None and run.error.kind == "unavailable"


def test_a_deadline_that_passes_after_the_answer_is_no_outage(serving: Any, store: Store) -> None:
    server = serving(Model(FAILING["unavailable"], times=100))
    with Desk(store, app_of(lambda: agent_of(server, retry=QUICK))) as desk:
        run_id = desk.submit("desk", deadline=HOURS)
        looking = _out_of_time_while_it_looks(desk, store, run_id)
        assert store.worker.reply(looking, Reply(kind="nothing"))
        run = desk.coordinator.move(run_id).run

    assert run.ended and run.error is None


def test_a_retry_after_an_outage_has_all_its_tries_again(serving: Any, store: Store) -> None:
    model = Model(FAILING["unavailable"], times=LONG)
    server = serving(model)
    policy = RetryPolicy(tries=5, first_wait=0.001, longest_wait=0.005)
    with Desk(store, app_of(lambda: agent_of(server, retry=policy))) as desk:
        failed = ended(desk, desk.submit("desk"))
        assert (failed.status, len(model.prompts)) == ("failed", 5)
        _, ask = store.tenant(DEFAULT_TENANT).retry(failed.id)
        assert ask is not None
        run = store.inspector.run(failed.id)
        while not run.ended:
            until(partial(desk.responders.answer, permit(ask)), "the next try to be due", patience=20)
            run = desk.coordinator.move(failed.id).run

    assert (run.status, len(model.prompts)) == ("completed", LONG + 1)


def test_a_script_fails_after_its_tries_unless_its_policy_says_to_wait(serving: Any) -> None:
    short, long = Model(FAILING["unavailable"], times=100), Model(FAILING["unavailable"], times=LONG)
    with pytest.raises(ModelUnavailableError):
        Task(agent_of(serving(short), retry=QUICK), interactive=False).run("hello")
    assert len(short.prompts) == 5

    patient = QUICK.model_copy(update={"on_outage": "wait"})
    result = Task(agent_of(serving(long), retry=patient), interactive=False).run("hello")
    assert result is not None and result.metadata.status is StatusCode.DONE
    assert len(long.prompts) == LONG + 1


def test_the_wait_of_a_script_ends_with_its_time(serving: Any) -> None:
    patient = RetryPolicy(on_outage="wait", first_wait=HOURS, longest_outage_wait=HOURS)
    task = Task(agent_of(serving(Model(FAILING["unavailable"], times=100)), retry=patient), interactive=False)
    task.run("hello", max_time=0.5)
    assert task.stop_reason is not None and task.stop_reason.limit == "time"
