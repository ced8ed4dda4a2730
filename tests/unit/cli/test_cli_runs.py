"""A list of runs fits the terminal, and says in few words what each waits for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.cells import cell_len

from turnwise.cli.text.ages import age
from turnwise.cli.text.runs import _lines, print_runs, reason, took


def run(**changes: Any) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {
        "id": "run_01a1fb0d0c7f70008dcbee3f791e29a3",
        "task": "a_task_with_a_name_that_is_much_longer_than_usual",
        "status": "running",
        "status_code": None,
        "created_at": (now - timedelta(hours=2, minutes=5, seconds=30)).isoformat(),
        "started_at": (now - timedelta(hours=2, seconds=30)).isoformat(),
        "finished_at": None,
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "cost": "0.5", "unpriced_calls": 0},
        "waiting_for": {"kind": "paused", "scope": "queue", "name": "llm", "reason": "provider outage " * 20},
        "error": None,
        "message": {"content": "hello"},
    } | changes


@pytest.mark.parametrize("width", [80, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_no_id_is_cut(width: int) -> None:
    lines = [line for line, _ in _lines([run(), run(waiting_for=None)], width)]

    assert max(map(len, lines)) <= width
    assert sum("run_01a1fb0d0c7f70008dcbee3f791e29a3" in line for line in lines) == 2
    assert any("the queue llm is paused: provider outage" in line for line in lines)
    assert "2h 5m" in lines[1]
    assert len(lines) == (3 if width == 200 else 5)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_wide_characters_count_as_two_cells(width: int) -> None:
    japanese = run(
        task="返金の確認", waiting_for=None, status="failed", error={"message": "接続が拒否されました。" * 30}
    )
    lines = [line for line, _ in _lines([run(task="desk"), japanese], width)]

    assert max(map(cell_len, lines)) <= width
    rows = [line for line in lines if "run_01a1fb0d0c7f70008dcbee3f791e29a3" in line]
    ages = [cell_len(line.partition("2h 5m")[0]) for line in rows]
    assert ages[0] == ages[1]
    assert any("返金の確認" in line for line in rows)


@pytest.mark.parametrize("width", [80, 200])
def test_what_strangers_wrote_is_never_obeyed_by_the_terminal(width: int) -> None:
    hostile = run(task="a\x1b[2Jb", waiting_for=None, error={"message": "no\u202e\x9b31m\x07 way\r\nnow"})
    text = "\n".join(line for line, _ in _lines([hostile], width))

    assert not set(text) & set("\x1b\x9b\x07\u202e\r")
    assert "no\\u202e\\x9b31m\\x07 way now" in text
    assert "a\\x1b[2Jb" in text


def test_no_line_is_cut_where_the_output_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_runs([run(waiting_for=None, error={"message": "word " * 500 + "end"})])

    head, line = capsys.readouterr().out.splitlines()
    assert head.endswith("waits for, or says")
    assert line.endswith("word end")
    assert "a_task_with_a_name_that_is_much_longer_than_usual" in line


def test_a_run_that_has_ended_took_as_long_as_it_did() -> None:
    ended = run(started_at="2026-11-22T10:00:00Z", finished_at="2026-11-22T10:01:30Z")

    assert took(ended) == "1m 30s"
    assert took(run(started_at=None)) == "-"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0.0s"), (0.42, "0.4s"), (59, "59s"), (90, "1m 30s"), (7_500, "2h 5m"), (273_600, "3d 4h")],
)
def test_an_age_has_two_units_at_most(seconds: float, text: str) -> None:
    assert age(seconds) == text


@pytest.mark.parametrize(
    ("why", "text"),
    [
        (
            {"kind": "llm", "agent": "desk", "queue": "llm", "state": "queued", "workers": 2},
            "a worker of the queue llm",
        ),
        ({"kind": "llm", "agent": "desk", "queue": "llm", "state": "queued", "workers": 0}, "no worker serves"),
        ({"kind": "agent", "agent": "desk", "queue": "agent", "state": "lapsed"}, "fell silent"),
        (
            {"kind": "llm", "agent": "desk", "state": "claimed", "worker": {"pid": 7, "host": "a"}, "attempt": 2},
            "worker 7 on a is at it, attempt 2",
        ),
        ({"kind": "llm", "agent": "desk", "state": "claimed", "worker": None, "attempt": 1}, "a worker is at it"),
        (
            {"kind": "retry", "due_at": "2026-11-22T10:00:01Z", "error": {"type": "Timeout"}},
            "10:00:01 UTC after Timeout",
        ),
        ({"kind": "human", "task": "desk/pay"}, "a human, asked by desk/pay"),
        ({"kind": "provider", "model": "big", "limit": "tokens"}, "the provider of big: tokens"),
        ({"kind": "budget", "limit": "cost", "scope": "tenant_day"}, "cost of tenant_day"),
        ({"kind": "parked", "tool": "refund"}, "refund"),
        ({"kind": "session", "run": "run_1"}, "run_1"),
        ({"kind": "move", "reason": "answered"}, "a coordinator: answered"),
        ({"kind": "version", "version": "2"}, "version 2"),
        ({"kind": "paused", "scope": "task", "name": "desk", "reason": None}, "the task desk is paused"),
        ({"kind": "of a later version", "sentence": "It waits."}, "It waits."),
    ],
)
def test_each_reason_of_waiting_is_said_in_few_words(why: dict[str, Any], text: str) -> None:
    assert text in reason(why)
