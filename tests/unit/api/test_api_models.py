"""The API's models: what a newer server adds is read, and the words are those of the record."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any, get_args

import pytest
from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode
from pydantic_core import to_json

from turnwise.api.access import KeyView, Scope
from turnwise.api.details import AsGiven, WaitingFor
from turnwise.api.events import EventView
from turnwise.api.fleet import PauseKind, WorkerView
from turnwise.api.inbox import InboxItem, ParkedView, QuestionView, UnknownItem
from turnwise.api.pages import Page
from turnwise.api.runs import RunView, StoppedView
from turnwise.api.transcript import MessageItem, TranscriptView, UnknownPart
from turnwise.record.asks import pauses
from turnwise.record.tenants.caller import SCOPES

MODES: tuple[JsonSchemaMode, ...] = ("validation", "serialization")
STOPPED: dict[str, Any] = {
    "limit": "patience",
    "scope": "run",
    "value": 3.0,
    "used": None,
    "why": None,
    "message": "stopped",
}


def test_a_value_that_a_newer_server_has_is_taken_as_it_is() -> None:
    found = StoppedView.model_validate(STOPPED)

    assert str(found.limit) == "patience"
    assert found.model_dump(mode="json") == STOPPED


def test_a_field_that_a_newer_server_has_is_kept_and_dumped() -> None:
    newer = STOPPED | {"since": "2026-11-22T00:00:00Z"}

    found = StoppedView.model_validate(newer)

    assert found.model_extra == {"since": "2026-11-22T00:00:00Z"}
    assert found.model_dump(mode="json") == newer


def test_no_schema_promises_fields_that_it_does_not_name() -> None:
    for mode in MODES:
        for view in (WorkerView, KeyView, TranscriptView, Page[ParkedView]):
            assert "additionalProperties" not in view.model_json_schema(mode=mode), view


@pytest.mark.parametrize(
    "found",
    [{"kind": "weather", "place": "sea"}, {"kind": "retry", "attempt": "third", "error": 7}, {"sentence": None}],
)
def test_an_object_of_another_version_is_taken_as_it_is(found: dict[str, Any]) -> None:
    waiting: TypeAdapter[Any] = TypeAdapter(Annotated[WaitingFor, AsGiven()])
    event = {"seq": 1, "type": "x", "at": "2026-11-22T00:00:00Z", "run": "run_1", "data": found}

    assert waiting.dump_json(waiting.validate_python(found)) == to_json(found)
    assert EventView.model_validate(event).model_dump(mode="json", exclude_unset=True) == event


def test_an_object_that_depends_on_a_kind_is_described_by_its_fields() -> None:
    for mode in MODES:
        described, null = RunView.model_json_schema(mode=mode)["properties"]["waiting_for"]["anyOf"]
        assert null == {"type": "null"}
        assert described["required"] == ["kind", "sentence"]
        assert {"since", "due_at", "question", "error"} < set(described["properties"])
        assert "additionalProperties" not in described


def test_the_candidate_of_an_event_is_called_try_over_http() -> None:
    event = {"seq": 1, "type": "x", "at": "2026-11-22T00:00:00Z", "run": "run_1", "try": 2}

    found = EventView.model_validate(event)

    assert found.candidate == 2
    assert found.model_dump(mode="json", by_alias=True, exclude_unset=True) == event


def test_an_open_value_is_described_by_the_known_ones() -> None:
    limit = StoppedView.model_json_schema()["properties"]["limit"]

    assert limit["enum"] == ["cost", "tokens", "turns", "max_turns", "time", "stalled_steps"]
    assert "anyOf" not in limit


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (
            {"kind": "question", "id": "q", "run": "r", "task": "t", "asked_at": 0, "text": "", "document": None},
            QuestionView,
        ),
        (
            {
                "kind": "parked",
                "id": "q",
                "run": "r",
                "task": "t",
                "parked_at": 0,
                "agent": "a",
                "responder": "llm",
                "reason": "of_tomorrow",
                "attempts": 1,
            },
            ParkedView,
        ),
        ({"kind": "vote", "id": "v", "run": "r", "task": "t", "votes": 3}, UnknownItem),
    ],
)
def test_an_item_of_the_inbox_is_read_by_its_kind(item: dict[str, Any], kind: type) -> None:
    [found] = Page[InboxItem].model_validate({"items": [item]}).items

    assert type(found) is kind
    assert found.model_dump(exclude_unset=True).keys() == item.keys()


def test_a_part_of_a_transcript_of_an_unknown_kind_is_kept() -> None:
    told = {"kind": "message", "turn": 1, "document": {"content": "hello"}}
    root = {"kind": "task", "task": "desk", "items": [told, {"kind": "pause", "seconds": 3}]}

    found = TranscriptView.model_validate({"run": "run_1", "status": "running", "root": root}).root

    assert found is not None
    assert [type(item) for item in found.items] == [MessageItem, UnknownPart]
    assert found.model_dump(exclude_unset=True) == root


def test_the_words_are_those_of_the_record() -> None:
    assert get_args(Scope) == SCOPES
    assert get_args(PauseKind) == pauses.KINDS


def test_the_models_load_neither_record_nor_web_framework() -> None:
    program = (
        "import sys, pkgutil, importlib, turnwise.api\n"
        "for one in pkgutil.iter_modules(turnwise.api.__path__): importlib.import_module(f'turnwise.api.{one.name}')\n"
        "print(sorted({'sqlalchemy', 'fastapi', 'starlette', 'httpx2', 'celery', 'openai'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
