"""Workers, queues and pauses on terminals of any width, whoever named them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.table import Table
from rich.text import Text

from turnwise.api.runs import BulkView
from turnwise.cli.selection import change_all
from turnwise.cli.text.console import console
from turnwise.cli.text.fleet import print_pauses, print_queues, print_workers

POD = "turnwise-responder-llm-7c9f8d6b5d-x2x4q"
QUEUE = "agent-customer-care-emails"
HOSTILE = "[/red] outage [EU] :warning: \x1b[2J\u202e\x9b31m"
SHOWN = "[/red] outage [EU] :warning: \\x1b[2J\\u202e\\x9b31m"


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


def worker(**changes: Any) -> dict[str, Any]:
    return {
        "pid": 17,
        "host": POD,
        "kind": "coordinator",
        "queues": [QUEUE, "llm"],
        "version": "0.1.0",
        "state": "alive",
        "leased": 12,
        "started_at": ago(90_000),
        "beat_at": ago(90),
    } | changes


def queue(**changes: Any) -> dict[str, Any]:
    return {
        "queue": QUEUE,
        "runnable": 120_000,
        "leased": 12,
        "delayed": 0,
        "paused_asks": 0,
        "workers": 0,
        "backlog": 120_012,
        "paused": False,
        "oldest_age": 90_000,
    } | changes


def pause(**changes: Any) -> dict[str, Any]:
    return {"kind": "queue", "name": "llm", "since": ago(900), "paused_by": "local", "reason": None} | changes


@pytest.fixture(params=[80, 120])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The width of the terminal that is written to."""
    monkeypatch.setenv("COLUMNS", str(request.param))
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    return int(request.param)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines without their styles."""
    return re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out).splitlines()


def test_numbers_and_states_of_workers_stay_whole_beside_long_names(
    width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    print_workers([worker()])

    shown = lines(capsys)
    assert max(map(len, shown)) <= width
    assert "…" not in "".join(shown)
    assert re.search(r"coordinator .*live +12 +1d 1h +1m 30s", "\n".join(shown))
    assert len(shown) <= 1 + 6


def test_numbers_of_queues_stay_whole_beside_a_long_name(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    print_queues([queue(), queue(queue="llm", paused=True, paused_asks=120_000)])

    shown = lines(capsys)
    assert max(map(len, shown)) <= width
    assert "…" not in "".join(shown)
    assert sum(" 120000 " in line for line in shown) == 2
    assert all(name in shown[0] for name in ("runnable", "leased", "delayed", "paused", "oldest", "workers"))


def test_a_reason_with_brackets_is_shown_as_it_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    print_pauses([pause(reason=HOSTILE, name=HOSTILE, paused_by=HOSTILE)])

    assert capsys.readouterr().out.count(SHOWN) == 3


def test_names_of_workers_and_queues_are_shown_as_they_were_written(capsys: pytest.CaptureFixture[str]) -> None:
    print_workers([worker(host=HOSTILE, version=HOSTILE, queues=[HOSTILE])])
    print_queues([queue(queue=HOSTILE)])

    assert capsys.readouterr().out.count(SHOWN) == 4


def test_whatever_is_printed_on_the_console_is_never_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(box=None)
    table.add_row(HOSTILE)
    for printed in (HOSTILE, Text(HOSTILE), table):
        console().print(printed)

    out = capsys.readouterr().out
    assert out.count(SHOWN) == 2
    assert out.count("\\x1b") == 3
    assert not set(out) & set("\x1b\x9b\u202e")


def test_why_a_run_was_refused_is_never_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    def change(*_: object, **__: object) -> BulkView:
        refused = [{"run": "run_1", "code": "session_went_on", "detail": HOSTILE}]
        page = {"matched": 1, "changed": 0, "runs": [], "refused": refused}
        return BulkView.model_validate(page | {"created_before": ago(0), "next_cursor": None})

    change_all(change, {}, "cancelled", dry_run=False, yes=True, as_json=False)

    assert capsys.readouterr().err == f"run_1: {SHOWN}\n"
