"""The benchmark beside other libraries: what is read from its findings, and the page that is made of them."""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench.counting import called, content_bytes, counted, first_message, said, turns_of
from bench.peers import cpu, protocol
from bench.peers.__main__ import LOOPS, ONCE, loops_of
from bench.peers.comparisons import sentences
from bench.peers.document import Figure, Findings, Played, Sample, read
from bench.peers.figures import ALL, names
from bench.peers.figures.ageing import ratio
from bench.peers.page import FINDINGS, PAGE, written
from bench.peers.roster import BY_NAME, CONTENDERS
from bench.peers.targets import TARGETS, Line, judged, median_and_range

_ROOT = Path(__file__).parents[3]


def _sample(contender: str, rate: float, number: int = 1, turns: int = 50, at_once: int = 1, ms: float = 1.0) -> Sample:
    return Sample(
        contender=contender,
        round=number,
        turns=turns,
        conversations=at_once,
        rate=rate,
        cpu_ms={"processes": ms / 2, "PostgreSQL": ms / 2},
        bytes_per_turn=1_500.0 if contender.startswith("turnwise") else None,
    )


def _findings(*samples: Sample, figures: tuple[Figure, ...] = ()) -> Findings:
    return Findings(
        begun="2026-01-02T03:04:05+00:00",
        machine="x86_64, 2 cores, Python 3.11.7",
        cores=2,
        load=(0.1, 1.9),
        servers={"PostgreSQL": "15.2, synchronous_commit=on"},
        rounds=max((sample.round for sample in samples), default=0),
        contenders={s.contender: Played(settings={"durability": "sync"}, versions={"lib": "1.0"}) for s in samples},
        samples=list(samples),
        figures=list(figures),
        left_out={"celery": "no RabbitMQ answers"},
    )


def _line(findings: Findings, label: str) -> Line:
    (found,) = [line for line in judged(findings) if line.target.label == label]
    return found


def test_the_conversation_ends_after_as_many_turns_as_are_ordered() -> None:
    text, turns, length = first_message(50), 0, 0
    while True:
        answer = said(text)
        turns, length = turns + 1, length + len(text) + len(answer)
        call = called(answer)
        if call is None:
            break
        text, turns = counted(*call), turns + 1
    assert turns == turns_of(50) == 51
    assert length == content_bytes(50)


def test_a_target_takes_the_worst_loop_and_the_median_of_its_rounds() -> None:
    rates = {(50, 1): 2_000, (50, 2): 1_000, (50, 3): 1_700, (800, 1): 5_000, (800, 2): 6_000}
    found = _findings(
        *(_sample("turnwise-embedded-normal", rate, number, turns) for (turns, number), rate in rates.items())
    )
    line = _line(found, "embedded, SQLite NORMAL, 1 at once, turns/s")
    assert line.median == 1_700
    assert line.loop == "50 turns, 1 at once"
    assert line.shown == "1,700 (1,000 to 2,000)"
    assert line.verdict == "floor"


def test_a_ratio_is_taken_within_each_round() -> None:
    found = _findings(
        _sample("turnwise-distributed", 100, 1),
        _sample("turnwise-distributed", 1_000, 2),
        _sample("celery", 50, 1),
        _sample("celery", 500, 2),
        _sample("celery", 1, 3),
    )
    line = _line(found, "distributed, 1 at once, to bare Celery's two hops")
    assert list(line.values) == [2.0, 2.0]
    assert line.verdict == "floor"


def test_what_has_an_upper_bound_is_missed_above_it() -> None:
    late = _findings(figures=(Figure(name=names.FIRST_CALL_P99, round=1, value=41.0),))
    assert _line(late, names.FIRST_CALL_P99).verdict == "missed"
    quick = _findings(figures=(Figure(name=names.FIRST_CALL_P99, round=1, value=19.0),))
    assert _line(quick, names.FIRST_CALL_P99).verdict == "aim"
    assert _line(quick, names.FIRST_CALL_P50).verdict == "not measured"


def test_what_has_an_aim_alone_reaches_it_or_not() -> None:
    def verdict(rate: float) -> str:
        return _line(_findings(_sample("turnwise-distributed", rate)), "distributed, 1 at once, turns/s").verdict

    assert (verdict(699), verdict(700)) == ("missed", "aim")


def test_the_content_of_a_conversation_is_not_counted_as_overhead() -> None:
    line = _line(_findings(_sample("turnwise-distributed", 1)), "bytes stored a turn beyond its content, distributed")
    assert line.median == pytest.approx(1_500 - content_bytes(50) / 51)


def test_every_figure_is_in_the_table_and_every_name_in_the_roster_is_used_once() -> None:
    told = {target.label for target in TARGETS}
    assert {value for name, value in vars(names).items() if name.isupper()} <= told
    assert len(told) == len(TARGETS)
    assert len(BY_NAME) == len(CONTENDERS)
    assert not set(BY_NAME) & set(ALL)


def test_the_page_says_where_a_peer_is_ahead() -> None:
    found = _findings(
        _sample("turnwise-distributed", 100, ms=3.0),
        _sample("celery", 150, ms=4.0),
        _sample("dbos-postgres", 80, ms=2.0),
    )
    told = sentences(found)
    assert "**bare Celery, two hops** beside **Turnwise, distributed, one worker**" in told[1]
    assert told[1].endswith("ahead in turns a second with 50 turns and 1 at once (1.50 x).")
    assert told[0].endswith("ahead in CPU a turn with 50 turns and 1 at once (1.50 x).")
    assert all(sentence in written(found) for sentence in told)


def test_the_page_has_what_was_found_and_what_was_left_out() -> None:
    page = written(_findings(_sample("turnwise-sync", 9_500), _sample("langgraph-sqlite", 800)))
    assert "load average 0.1 before, 1.9 after. PostgreSQL 15.2, synchronous_commit=on." in page
    assert "| in-process, sync, 1 at once, turns/s (50 turns, 1 at once) | 9,500 | at least 9,000 |" in page
    assert "| LangGraph, SQLite NORMAL | 800 |" in page
    assert BY_NAME["langgraph-sqlite"].guarantee in page
    assert "- `celery`, in this run: no RabbitMQ answers" in page


def test_the_findings_are_read_as_they_were_written(tmp_path: Path) -> None:
    found = _findings(_sample("celery", 1.5), figures=(Figure(name=names.SUBMISSIONS, round=1, value=400.0),))
    found.write(tmp_path / "findings.json")
    assert read(tmp_path / "findings.json") == found


def test_the_page_in_the_documentation_is_what_the_findings_make() -> None:
    assert PAGE.exists() == FINDINGS.exists()
    if FINDINGS.exists():
        assert PAGE.read_text() == written(read(FINDINGS))


def test_the_picture_is_drawn_of_any_number_of_loops(tmp_path: Path) -> None:
    plot = pytest.importorskip("bench.peers.plot", reason="the extra bench is not installed")
    one = _findings(_sample("celery", 5))
    three = _findings(
        *(_sample("celery", 5, turns=turns) for turns in (10, 20, 30)), _sample("dbos-sqlite", 2, turns=10)
    )
    for number, found in enumerate((one, three)):
        plot.draw(found, tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").read_bytes().startswith(b"\x89PNG")


def test_loops_are_read_as_turns_and_conversations() -> None:
    assert loops_of("50x1,800x50") == [(50, 1), (800, 50)]
    assert loops_of("none") == []
    assert {*LOOPS, *ONCE} == {(turns, at_once) for turns in (50, 800) for at_once in (1, 50)}
    for wrong in ("50", "50x", "0x1", "50x1,", "axb"):
        with pytest.raises(argparse.ArgumentTypeError, match="TURNSxCONVERSATIONS"):
            loops_of(wrong)


def test_lines_that_are_not_of_the_protocol_are_passed_over() -> None:
    assert protocol.heard("a warning\n", protocol.READY) is None
    assert protocol.heard('played {"seconds": 2}\n', protocol.PLAYED) == {"seconds": 2}
    assert json.loads(protocol.order(50, 1)) == {"turns": 50, "conversations": 1}


def test_a_contender_answers_orders_and_keeps_other_output_apart() -> None:
    program = (
        "from bench.peers import protocol\n"
        "def play(turns, conversations):\n"
        "    print('noise')\n"
        "    return {'seconds': turns * conversations}\n"
        "protocol.answer(play, settings={'a': 'b'}, stored=lambda: 5.0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=_ROOT,
        input=protocol.order(3, 4) + protocol.ASK_STORED,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    ready, played, stored = io.StringIO(done.stdout)
    about = protocol.heard(ready, protocol.READY)
    assert about is not None
    assert about["settings"] == {"a": "b"}
    assert len(about["pids"]) == 1
    assert protocol.heard(played, protocol.PLAYED) == {"seconds": 12}
    assert protocol.heard(stored, protocol.STORED) == {"bytes_per_turn": 5.0}
    assert "noise" in done.stderr


def test_cpu_counts_the_processes_that_live_at_the_end() -> None:
    before = {"processes": {1: 1.0}, "PostgreSQL": {10: 5.0, 11: 7.0}}
    after = {"processes": {1: 1.5}, "PostgreSQL": {10: 5.25, 12: 0.5}}
    assert cpu.used(before, after) == {"processes": 0.5, "PostgreSQL": 0.75}


@pytest.mark.parametrize(
    ("command", "counts"),
    [
        ("postgres: postgres tw_test_1 127.0.0.1(5004) idle", True),
        ("postgres: postgres tw_test_2 127.0.0.1(5005) idle", False),
        ("postgres: postgres other [local] idle", False),
        ("postgres: 15/main: walwriter ", True),
        ("postgres: checkpointer ", True),
        ("/usr/lib/postgresql/15/bin/postgres -D /var/lib", True),
        ("python -m postgres", False),
    ],
)
def test_of_the_database_those_processes_count_that_work_for_the_contender(command: str, counts: bool) -> None:
    assert cpu.is_of(command, "tw_test_1") is counts


def test_late_turns_are_compared_with_early_ones() -> None:
    at = [0.0]
    for step in [9.0] * 5 + [1.0] * 20 + [7.0] * 5 + [2.0] * 20:
        at.append(at[-1] + step)
    assert ratio(at, young=5, window=20) == 2.0


def test_figures_are_printed_with_their_range() -> None:
    assert median_and_range([]) == "–"
    assert median_and_range([1.23456], " ms") == "1.23 ms"
    assert median_and_range([1_000, 3_000, 2_000]) == "2,000 (1,000 to 3,000)"
