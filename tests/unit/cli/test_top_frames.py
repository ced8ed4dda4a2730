"""Frames of `turnwise top` fit the terminal, whatever it shows; keys do what the last line says."""

from __future__ import annotations

import os
import pty
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.cells import cell_len

from turnwise.cli.top.choice import Choice
from turnwise.cli.top.frame import Size, frame
from turnwise.cli.top.keys import read_keys
from turnwise.cli.top.snapshot import FleetSnapshot

NOW = datetime.now(UTC)
HOSTILE = "[/red] 東京 \x1b[2J\u202e"


def run(number: int, **changes: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 10 * number, "completion_tokens": 0, "cost": f"{number / 100}", "unpriced_calls": 0}
    return {
        "id": f"run_01a2098757ef7000a10770ec{number:08d}",
        "task": "triage",
        "status": "running",
        "tags": [],
        "created_at": (NOW - timedelta(seconds=number)).isoformat(),
        "started_at": (NOW - timedelta(seconds=number)).isoformat(),
        "finished_at": None,
        "usage": usage,
        "message": {"content": f"case {number}"},
    } | changes


def snapshot(runs: list[dict[str, Any]], **changes: Any) -> FleetSnapshot:
    queue = {"queue": "llm", "runnable": 3, "leased": 1, "delayed": 0, "oldest_age": 5.0, "workers": 0, "backlog": 4}
    spender = {
        "name": "triage",
        "calls": 7,
        "unpriced_calls": 0,
        "prompt_tokens": 9,
        "completion_tokens": 1,
        "cost": "0.5",
    }
    seen = FleetSnapshot(
        at=NOW,
        url="http://127.0.0.1:8080",
        filter="unfinished",
        fleet=False,
        runs=runs,
        counts={"running": str(len(runs)), "waiting": "0", "queued": "50+"},
        queues=[queue | {"paused": False}],
        spenders=[spender],
        spent={"calls": 7, "unpriced_calls": 0, "tokens": 10, "cost": "0.5"},
        points=[{"seconds": 30.0, "turns": 60}, {"seconds": 30.0, "turns": 30}],
        questions=1,
        parked=1,
    )
    return replace(seen, **changes)


def plain(seen: FleetSnapshot, choice: Choice, size: Size, fault: str = "") -> list[str]:
    return [line.plain for line in frame(seen, choice, size, fault)]


@pytest.mark.parametrize("height", [8, 24, 60])
@pytest.mark.parametrize("width", [20, 60, 80, 130, 200])
def test_a_frame_fills_the_terminal_and_no_more(width: int, height: int) -> None:
    long = run(2, task=HOSTILE * 9, message={"content": HOSTILE * 40})
    seen = snapshot([run(1), long, *map(run, range(3, 40))], url="http://" + "x" * 300)

    lines = plain(seen, Choice(), Size(width, height), "No answer since 10:00: " + "y" * 300)

    assert len(lines) == height
    assert max(map(cell_len, lines)) <= width
    assert not set("".join(lines)) & set("\x1b\u202e")


def test_a_frame_tells_of_runs_queues_and_spend() -> None:
    text = "\n".join(plain(snapshot([run(1), run(2)]), Choice(), Size(130)))

    assert "2 running  0 waiting  50+ queued  inbox 2" in text
    assert "1.5 turns/s in 10 min █▅  today $0.5000  10 tokens" in text
    assert "no worker serves it" in text
    assert "triage           7      10  $0.5000" in text
    assert f"  {run(1)['id']}  triage  running" in text


def test_the_selected_run_stays_selected_and_in_sight_when_others_come() -> None:
    runs = [run(number) for number in range(10, 60)]
    choice = Choice().moved(runs, 30)
    more = [run(number) for number in range(1, 60)]

    lines = plain(snapshot(more), choice, Size(80, 24))

    assert choice.selected == runs[30]["id"]
    assert next(line for line in lines if line.startswith("> ")).split()[1] == "…00000040"


@pytest.mark.parametrize(
    ("by", "at"), [(-1, 0), (1, 1), (10_000, 2)], ids=["above the first", "the next", "below the last"]
)
def test_a_selection_ends_at_the_first_and_the_last(by: int, at: int) -> None:
    runs = [run(1), run(2), run(3)]

    assert Choice().moved(runs, by).selected == runs[at]["id"]
    assert Choice().moved([], by).selected is None


def test_runs_are_sorted_and_searched() -> None:
    runs = [run(2), run(3, tags=["vip"]), run(1)]

    assert [one["id"][-1] for one in Choice().visible(runs)] == ["1", "2", "3"]
    assert [one["id"][-1] for one in Choice().next_order().visible(runs)] == ["3", "2", "1"]
    assert [one["id"][-1] for one in Choice(order="cost").visible(runs)] == ["3", "2", "1"]
    assert [one["id"][-1] for one in Choice(search="VIP").visible(runs)] == ["3"]
    assert [one["id"][-1] for one in Choice(search="case 1").visible(runs)] == ["1"]


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b"q", ["q"]),
        (b"\x1b[B\x1b[B\r", ["down", "down", "enter"]),
        (b"\x1bOA", ["up"]),
        ("/né".encode(), ["/", "n", "é"]),
        (b"\x1b", ["escape"]),
        (b"\x1b[15~", []),
        (b"\xff", ["\ufffd"]),
    ],
)
def test_keys_are_told_apart(sent: bytes, keys: list[str]) -> None:
    reader, writer = os.pipe()
    os.write(writer, sent)
    os.close(writer)

    assert read_keys(reader) == keys
    assert read_keys(reader) == ["end of input"]
    os.close(reader)


def test_a_terminal_that_is_gone_is_the_end_of_input() -> None:
    ours, theirs = pty.openpty()
    os.close(ours)

    assert read_keys(theirs) == ["end of input"]
    os.close(theirs)
