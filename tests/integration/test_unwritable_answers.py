"""An answer that no database can keep is an error on record, at once: it is no outage that somebody could wait for."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from pydantic import SecretStr
from sqlalchemy import exc
from tests.support.either_database import database, postgres_url
from tests.support.kept_values import kept
from tests.support.raw_model import completion, raw_model
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, OpenAIGPTConfig, Task, ToolMessage
from turnwise.errors import DatabaseUnavailableError, UnwritableError
from turnwise.models.base import LLMConfig, LLMResponse
from turnwise.models.budget.gate import current_gate
from turnwise.models.tokens.usage import MOST_TOKENS, LLMTokenUsage, reported
from turnwise.record.database.database import Database
from turnwise.record.database.faults import translated
from turnwise.record.database.schema import asks
from turnwise.record.store import Store
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.records import EventRecord, NewAsk

__all__ = ["database", "postgres_url"]


def _app(model: LLMConfig, agent: Callable[[ChatAgentConfig], ChatAgent] = ChatAgent) -> App:
    app = App("tests")

    @app.task
    def desk() -> Task:
        made = agent(ChatAgentConfig(name="desk", llm=model))
        return Task(made, interactive=False)

    return app


def _event(desk: Desk, run: str, type: str) -> EventRecord:
    return next(event for event in desk.store.inspector.events(run) if event.type == type)


def _leased(desk: Desk, run: str) -> list[str]:
    with desk.store.database.read() as connection:
        found = connection.execute(sa.select(asks.c.id).where(asks.c.run_id == run, asks.c.status == "leased"))
        return [row[0] for row in found]


@pytest.mark.parametrize("prompt_tokens", [2**63 - 1, 2**80, -5, MOST_TOKENS + 1])
def test_a_usage_that_cannot_be_true_is_doubted_on_record_and_nothing_waits(
    database: Database, prompt_tokens: int
) -> None:
    usage = LLMTokenUsage(prompt_tokens=prompt_tokens, completion_tokens=7, calls=1)
    answer = LLMResponse(message="DONE", usage=usage)
    with Desk(Store(database), _app(MockLMConfig(response_fn=lambda said: answer))) as desk:
        for _ in range(2):  # the sums of the second overflowed what the first one left room for
            run = desk.go_on(desk.submit("desk"))

            assert (run.status, run.prompt_tokens, run.calls) == ("completed", 0, 1)
            told = _event(desk, run.id, "usage.settled").data or {}
            assert str(prompt_tokens) in told["doubt"]


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 2**63 - 1, "completion_tokens": 1},
        {"prompt_tokens": -3, "completion_tokens": 1},
        {"prompt_tokens": 1.5, "completion_tokens": 1},
        {"prompt_tokens": float("nan"), "completion_tokens": 1},
        {"prompt_tokens": "many", "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"prompt_tokens": 10, "completion_tokens": 10**30},
        {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": -1}},
        [17],
    ],
    ids=str,
)
@pytest.mark.parametrize("max_cost", [None, Decimal(100)])
def test_what_a_provider_cannot_have_used_is_charged_as_it_was_reserved(
    database: Database, usage: Any, max_cost: Decimal | None
) -> None:
    with raw_model(lambda _: completion({"content": "DONE"}, usage)) as url:
        model = OpenAIGPTConfig(
            chat_model="raw",
            api_base=url,
            api_key=SecretStr("k"),
            input_price=Decimal(1),
            output_price=Decimal(2),
            max_output_tokens=50,
            min_output_tokens=10,
        )
        with Desk(Store(database), _app(model)) as desk:
            run = desk.go_on(desk.submit("desk", max_cost=max_cost))

            assert (run.status, run.completion_tokens, run.reserved_cost) == ("completed", 50, Decimal(0))
            assert 0 < run.prompt_tokens < 10_000
            assert run.cost == (run.prompt_tokens + 2 * run.completion_tokens) / Decimal(1_000_000)
            assert (_event(desk, run.id, "usage.settled").data or {})["doubt"]
            if max_cost is not None:
                reserved = _event(desk, run.id, "usage.reserved").data or {}
                assert reserved["tokens"] == run.prompt_tokens + run.completion_tokens


def test_counts_that_can_be_true_are_taken_as_they_are() -> None:
    told = {"prompt_tokens": 12.0, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 40}}

    found = reported(told)

    assert (found.prompt_tokens, found.cached_tokens, found.completion_tokens, found.doubt) == (12, 12, 3, "")
    assert reported(None) == LLMTokenUsage(calls=1, cost=None)


class Count(ToolMessage):
    request: str = "count"
    purpose: str = "To count what was used."


class Counter(ChatAgent):
    """An agent whose handler counts what no column can hold."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.enable_message(Count)

    def count(self, _tool: Count) -> str:
        gate = current_gate()
        assert gate is not None
        gate.count(LLMTokenUsage(prompt_tokens=2**80, calls=1))
        return "counted"


def test_a_reply_that_cannot_be_kept_is_an_error_and_its_place_is_free(database: Database) -> None:
    model = MockLMConfig(response_fn=lambda said: '{"request": "count"}' if said == "hello" else "DONE")
    with Desk(Store(database), _app(model, Counter)) as desk:
        run = desk.go_on(desk.submit("desk"))

        assert (run.status, run.status_code, run.reserved_tokens) == ("failed", "ERROR", 0)
        assert kept(run.error)["code"] == "unwritable"
        assert _leased(desk, run.id) == []
        assert desk.responders.busy() == 0


def test_a_run_whose_move_cannot_be_kept_ends_with_the_error(database: Database) -> None:
    with Desk(Store(database), _app(MockLMConfig(default_response="DONE"))) as desk:
        run, mover = desk.submit("desk"), desk.coordinator._mover

        class TooMuch:
            def move(self, tx: RunTransaction) -> Any:
                tx.change(max_tokens=2**80)
                return mover.move(tx)

        desk.coordinator._mover = TooMuch()  # type: ignore[assignment]

        ended = desk.coordinator.move(run).run

        assert (ended.status, kept(ended.error)["code"]) == ("failed", "unwritable")
        assert desk.store.inspector.run(run).ended
        assert desk.events(run)[-1] == "run.failed"


@pytest.mark.parametrize("value", [2**80, "\ud800"], ids=["number", "half-a-pair"])
def test_a_value_is_told_from_an_outage(database: Database, value: Any) -> None:
    store = Store(database)
    ask = NewAsk(
        id="x", frame_no=1, path="desk", agent="desk", responder="llm", queue="q", turn=1, candidate=1, message_id=None
    )
    with (
        Desk(store, _app(MockLMConfig(default_response="DONE"))) as desk,
        pytest.raises(UnwritableError, match="cannot keep this"),
        store.coordinator.locked(desk.submit("desk")) as transaction,
    ):
        fields = {"turn": value} if isinstance(value, int) else {"path": value}
        transaction.add_ask(NewAsk(**{name: getattr(ask, name) for name in ask.__slots__} | fields))


@pytest.mark.parametrize(
    ("error", "meant"),
    [
        (exc.DataError("", {}, psycopg.errors.NumericValueOutOfRange()), UnwritableError),
        (psycopg.errors.UntranslatableCharacter(), UnwritableError),
        (psycopg.errors.StatementTooComplex(), UnwritableError),
        (psycopg.errors.ProgramLimitExceeded(), UnwritableError),
        (exc.StatementError("", "", {}, TypeError()), UnwritableError),
        (sqlite3.DataError("string or blob too big"), UnwritableError),
        (OverflowError("Python int too large to convert to SQLite INTEGER"), UnwritableError),
        (RecursionError(), UnwritableError),
        (psycopg.errors.DeadlockDetected(), DatabaseUnavailableError),
        (psycopg.errors.SerializationFailure(), DatabaseUnavailableError),
        (psycopg.errors.AdminShutdown(), DatabaseUnavailableError),
        (psycopg.OperationalError("connection refused"), DatabaseUnavailableError),
        (sqlite3.OperationalError("database is locked"), DatabaseUnavailableError),
        (exc.TimeoutError(), DatabaseUnavailableError),
        (exc.IntegrityError("", {}, psycopg.errors.UniqueViolation()), None),
        (KeyError("no such key"), None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_each_error_of_a_database_is_an_outage_or_is_not(error: Exception, meant: type[Exception] | None) -> None:
    found = translated(error, "the record", is_postgres=True)

    assert found is None if meant is None else type(found) is meant
