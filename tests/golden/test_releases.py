"""Runs that earlier releases recorded are decided today as they were decided then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.rules.catalogue import scenarios
from tests.rules.scenario import SERVED
from tests.rules.served import application

from turnwise import App
from turnwise.machine import done
from turnwise.record.past.export import checked
from turnwise.record.past.private_record import PrivateRecord
from turnwise.serving.replay import replay

_RELEASES = Path(__file__).parent / "releases"
_FILES = sorted(_RELEASES.glob("*/*.json"))
# Files whose runs are decided otherwise on purpose, each with the release note that says so.
EXPECTED: dict[str, str] = {}
_MOST_BYTES = 1_000_000


def _read(file: Path) -> dict[str, Any]:
    return checked(json.loads(file.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def app() -> App:
    return application([each for each in scenarios() if SERVED not in each.never], {})


@pytest.fixture(scope="module")
def scratch() -> Iterator[PrivateRecord]:
    with PrivateRecord() as made:
        yield made


@pytest.mark.parametrize("file", [pytest.param(file, id=f"{file.parent.name}-{file.stem}") for file in _FILES])
def test_a_run_of_a_release_is_decided_as_it_was(app: App, scratch: PrivateRecord, file: Path) -> None:
    result = replay(app, _read(file), scratch)

    name = f"{file.parent.name}/{file.name}"
    assert result.same is (name not in EXPECTED), result
    assert result.decisions >= 1


@pytest.mark.parametrize("release", sorted({file.parent for file in _FILES}), ids=lambda folder: folder.name)
def test_the_runs_of_a_release_show_something_of_everything(release: Path) -> None:
    files = sorted(release.glob("*.json"))
    found = [_read(file) for file in files]
    events = {event["type"] for run in found for event in run["events"]}
    ends = {run["run"]["status_code"] for run in found}

    assert sum(file.stat().st_size for file in files) < _MOST_BYTES
    assert events >= {
        "run.accepted", "task.started", "turn.asked", "turn.replied", "turn.taken", "turn.rejected", "human.asked",
        "human.answered", "limit.reached", "task.finished", "run.completed", "run.failed",
    }  # fmt: skip
    assert ends >= {"DONE", "ERROR", "STALLED", "INF_LOOP", "TIMEOUT", "MAX_COST", "MAX_TURNS", "USER_QUIT"}
    assert any("/" in (event["path"] or "") for run in found for event in run["events"])
    assert any(run["run"]["conversation_id"] for run in found)


def test_a_rule_that_changed_is_noticed(app: App, scratch: PrivateRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(done, "says_done", lambda *_, **__: False)

    assert any(not replay(app, _read(file), scratch).same for file in _FILES)
