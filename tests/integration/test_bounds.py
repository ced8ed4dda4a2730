"""Values that are nested too deep, or not UTF-8, enter nowhere; and no list fails because of one row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import BaseModel
from tests.support.either_database import database, postgres_url
from tests.support.gateway_parts import Served, served
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.base.json_bounds import MAX_DEPTH, MAX_STORED_DEPTH, MAX_VALUES, fault_in
from turnwise.bus.envelope import parse_envelope
from turnwise.errors import InvalidRequestError, UnwritableError
from turnwise.models.base import LLMFunctionCall, LLMResponse, OpenAIToolCall
from turnwise.record.database.columns import dump_json
from turnwise.record.database.database import Database
from turnwise.record.store import Store

__all__ = ["database", "postgres_url"]


def _deep(levels: int, inner: Any = 1) -> Any:
    for _ in range(levels):
        inner = {"a": inner}
    return inner


def _deep_text(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def _submission(metadata: str) -> str:
    return '{"task": "desk", "message": "hello", "metadata": ' + metadata + "}"


@pytest.fixture
def gateway(database: Database, tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, database=database) as made:
        yield made


_REFUSED: dict[str, str] = {
    "deep": _deep_text(300),
    "half-a-pair": '{"a": "\\ud800"}',
    "half-a-pair-as-name": '{"\\udfff": 1}',
    "long-number": '{"a": 1' + "0" * 400 + "}",
    "infinity": '{"a": 1e999}',
    "many": json.dumps({"a": [1] * (MAX_VALUES + 1)}),
}


@pytest.mark.parametrize("metadata", _REFUSED.values(), ids=_REFUSED)
def test_what_no_reader_could_read_is_refused_and_nothing_is_kept(gateway: Served, metadata: str) -> None:
    before = gateway.http.get("/v1/runs").json()
    text = _submission(metadata)

    refused = gateway.http.post("/v1/runs", content=text, headers={"content-type": "application/json"})

    assert (refused.status_code, refused.json()["code"]) == (422, "unwritable"), refused.text
    assert gateway.http.get("/v1/runs").json() == before


@pytest.mark.parametrize("levels", [5_000, 100_000])
def test_what_no_parser_could_parse_is_refused(gateway: Served, levels: int) -> None:
    text = _submission(_deep_text(levels))

    refused = gateway.http.post("/v1/runs", content=text, headers={"content-type": "application/json"})

    assert refused.status_code == 400, refused.text
    assert refused.json()["code"] == "invalid_json"


def test_what_is_just_within_the_bounds_is_kept_and_shown_everywhere(gateway: Served) -> None:
    run = gateway.submit(metadata=_deep(MAX_DEPTH - 2))

    assert gateway.http.get(f"/v1/runs/{run}").json()["metadata"] == _deep(MAX_DEPTH - 2)
    assert gateway.http.get("/v1/runs").status_code == 200


def test_rows_from_before_there_were_bounds_are_shown_as_far_as_they_can_be(gateway: Served) -> None:
    run, other = gateway.submit(), gateway.submit()
    gateway.ask_human(run)
    deep = _deep_text(400)
    with gateway.store.database.begin() as connection:
        given = {"deep": deep, "run": run}
        for statement in (
            "UPDATE runs SET metadata = :deep, message = :deep, waiting_for = :deep WHERE id = :run",
            "UPDATE documents SET body = :deep WHERE run_id = :run",
            "UPDATE events SET data = :deep WHERE run_id = :run AND type = 'human.asked'",
        ):
            if gateway.store.database.is_postgres:
                statement = statement.replace(":deep", "CAST(:deep AS json)")
            connection.execute(sa.text(statement), given)

    listed = gateway.http.get("/v1/runs", params={"limit": 200})
    shown = gateway.http.get(f"/v1/runs/{run}")
    inbox = gateway.http.get("/v1/inbox")
    transcript = gateway.http.get(f"/v1/runs/{run}/transcript")
    gateway.finish(run)
    with gateway.http.stream("GET", f"/v1/runs/{run}/events") as stream:
        events = stream.read().decode()

    assert {run, other} <= {item["id"] for item in listed.json()["items"]}
    assert "too deep to be shown" in shown.text
    assert [answer.status_code for answer in (shown, inbox, transcript)] == [200] * 3
    assert events.count("\nevent: ") + events.startswith("event: ") >= 2
    assert "run.completed" in events


class Fetch(ToolMessage):
    request: str = "fetch"
    purpose: str = "To fetch something."
    what: Any = None


class Notes(BaseModel):
    kept: Any = None


class Fetcher(ChatAgent):
    """An agent whose handler gives back what it is made with."""

    State = Notes

    def __init__(self, config: ChatAgentConfig, value: Callable[[], Any], state: Any = None) -> None:
        super().__init__(config)
        self.value, self.new_state = value, state
        self.enable_message(Fetch)

    def fetch(self, _tool: Fetch) -> Any:
        if self.new_state is not None:
            self.state.kept = self.new_state
        return self.value()


def _app(first: LLMResponse | str, value: Callable[[], Any] = lambda: "fetched", state: Any = None) -> App:
    app = App("tests")
    said: list[str] = []

    def respond(text: str) -> LLMResponse | str:
        said.append(text)
        return first if text == "hello" else "DONE"

    @app.task
    def desk() -> Task:
        config = ChatAgentConfig(name="desk", llm=MockLMConfig(response_fn=respond))
        return Task(Fetcher(config, value, state), interactive=False)

    app.said = said  # type: ignore[attr-defined]
    return app


def _called(arguments: dict[str, Any]) -> LLMResponse:
    call = OpenAIToolCall(id="c1", function=LLMFunctionCall(name="fetch", arguments=arguments))
    return LLMResponse(oai_tool_calls=[call])


def _watched(desk: Desk, run: str, directory: Path) -> None:
    """Everything that shows the run still does."""
    with served(directory, database=desk.store.database) as gateway:
        for path in ("/v1/runs", f"/v1/runs/{run}", f"/v1/runs/{run}/transcript", f"/v1/runs/{run}/events"):
            assert gateway.http.get(path).status_code == 200, path


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 300, 3_000])
@pytest.mark.parametrize("how", ["call", "text"])
def test_a_model_is_told_that_its_arguments_are_nested_too_deep(
    database: Database, tmp_path: Path, levels: int, how: str
) -> None:
    text = '{"request": "fetch", "what": ' + _deep_text(levels) + "}"
    app = _app(_called({"what": _deep(levels)}) if how == "call" else text)
    with Desk(Store(database), app) as desk:
        run = desk.go_on(desk.submit("desk"))

        assert run.ended
        if how == "call" or levels < 1_000:  # a text that is nested deeper is no JSON, so it is prose
            assert run.status == "completed", run.error
            assert any("nested" in said for said in app.said[1:])  # type: ignore[attr-defined]
        _watched(desk, run.id, tmp_path)


@pytest.mark.parametrize(
    "value", [lambda: _deep(300), lambda: 10**400, lambda: _deep(5_000)], ids=["deep", "long", "deeper"]
)
def test_a_handler_s_result_out_of_bounds_is_an_error_on_record(
    database: Database, tmp_path: Path, value: Callable[[], Any]
) -> None:
    with Desk(Store(database), _app(_called({}), value)) as desk:
        run = desk.go_on(desk.submit("desk"))

        assert (run.status, run.status_code) == ("failed", "ERROR")
        _watched(desk, run.id, tmp_path)


@pytest.mark.parametrize("levels", [300, 5_000])
def test_so_is_a_state(database: Database, tmp_path: Path, levels: int) -> None:
    with Desk(Store(database), _app(_called({}), state=_deep(levels))) as desk:
        run = desk.go_on(desk.submit("desk"))

        assert (run.status, run.status_code) == ("failed", "ERROR")
        _watched(desk, run.id, tmp_path)


def test_halves_of_pairs_that_a_model_writes_are_replaced(database: Database, tmp_path: Path) -> None:
    call = OpenAIToolCall(id="c\ud800", function=LLMFunctionCall(name="fetch", arguments={"what": "\udfff"}))
    with Desk(Store(database), _app(LLMResponse(message="half \ud800", oai_tool_calls=[call]))) as desk:
        run = desk.go_on(desk.submit("desk"))

        assert run.status == "completed"
        kept = json.dumps([event.document for event in desk.store.inspector.events(run.id)])
        assert "\\ud800" not in kept
        assert "\\udfff" not in kept or "raw" in kept
        _watched(desk, run.id, tmp_path)


def _asked_with(document: dict[str, Any]) -> dict[str, Any]:
    """The envelope of an ask with that document, as a worker gets it."""
    envelope = {"v": 1, "kind": "ask", "run": "r", "ask": "a", "queue": "q", "agent": "x", "responder": "llm"}
    return envelope | {"task": "t", "turn": 1, "document": document}


def test_what_is_kept_within_the_bounds_travels(database: Database) -> None:
    with Desk(Store(database), _app(_called({"what": _deep(MAX_DEPTH - 1)}))) as desk:
        run = desk.go_on(desk.submit("desk"))
        kept = [event.document for event in desk.store.inspector.events(run.id) if event.document is not None]

    assert (run.status, desk.app.said[1:]) == ("completed", ["fetched"])  # type: ignore[attr-defined]
    assert any(fault_in(document) is not None for document in kept), "one is deeper than what entered"
    for document in [*kept, _deep(MAX_STORED_DEPTH)]:
        dump_json(document)
        assert parse_envelope(_asked_with(document))


def test_an_envelope_is_bounded_too() -> None:
    with pytest.raises(InvalidRequestError, match="nested deeper than 201"):
        parse_envelope(_asked_with(_deep(MAX_STORED_DEPTH + 1)))


@pytest.mark.parametrize(
    "value", [_deep(MAX_STORED_DEPTH + 1), _deep(50_000), float("nan")], ids=["deep", "deeper", "nan"]
)
def test_no_json_column_takes_more(value: Any) -> None:
    with pytest.raises(UnwritableError):
        dump_json(value)


def test_what_is_bounded_is_counted_without_recursion() -> None:
    assert fault_in(_deep(100_000)) is not None
    assert fault_in(_deep(MAX_DEPTH)) is None
    assert fault_in([_deep(MAX_DEPTH)]) is not None
    assert fault_in((_deep(MAX_DEPTH),)) is not None
    assert fault_in(10**307) is None
