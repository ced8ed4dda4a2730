"""The simulation of capacity against what queueing theory says exactly."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("simpy", reason="the extra bench is not installed")

import simpy
from bench.capacity.bounds import ceiling, closed, erlang_c, mean_wait
from bench.capacity.demands import Demands, Step, demands
from bench.capacity.measurements import Cost, Measurements, read
from bench.capacity.simulate import Installation, Load, Outcome, simulate
from bench.capacity.stations import Log, Station, Steps

_MS = 0.001


def _turn(**steps: Step) -> Demands:
    nothing: dict[str, Any] = dict.fromkeys(
        ["move", "publish", "claim", "model_call", "tool_call", "reply", "wake"], Step()
    )
    return Demands(**(nothing | steps), model=0.0, idle={}, flush=0.0, wal_bytes=0.0)


def _run(turn: Demands, conversations: int, latency: float = 0.0, seconds: float = 20.0, **more: Any) -> Outcome:
    places: dict[str, Any] = {"workers": 10, "threads": 100, "coordinators": 1, "coordinator_threads": 100}
    installation = Installation(**(places | {"database": 1.0} | more))
    load = Load(
        conversations=conversations,
        latency=lambda chance: chance.expovariate(1 / latency) if latency else 0.0,
        warm=seconds / 10,
        seconds=seconds,
    )
    return simulate(turn, installation, load)


@pytest.mark.parametrize(("servers", "arrivals"), [(1, 0.5), (3, 1.8)])
def test_a_station_makes_customers_wait_as_erlang_says(servers: int, arrivals: float) -> None:
    env, chance, waits = simpy.Environment(), random.Random(3), list[float]()
    station = Station(env, "desk", servers)

    def customer() -> Steps:
        came, needs = env.now, chance.expovariate(1)
        yield from station.serve(needs)
        waits.append(env.now - came - needs)

    def door() -> Steps:
        while True:
            yield env.timeout(chance.expovariate(arrivals))
            env.process(customer())

    env.process(door())
    env.run(10_000)
    assert sum(waits) / len(waits) == pytest.approx(mean_wait(servers, arrivals, 1.0), rel=0.12)
    assert station.utilization() == pytest.approx(arrivals / servers, rel=0.05)


def test_erlangs_formula_for_one_server_is_its_utilization() -> None:
    assert erlang_c(1, 0.6) == pytest.approx(0.6)
    with pytest.raises(ValueError, match="less than they can take"):
        erlang_c(2, 2.0)


def test_a_fraction_of_a_core_makes_the_whole_ones_slower() -> None:
    env = simpy.Environment()
    station = Station(env, "cores", 1.5)
    for _ in range(2):
        env.process(station.serve(3.0))
    env.run()
    assert env.now == pytest.approx(4.0)


def test_commits_that_come_during_a_flush_share_the_next() -> None:
    env, done = simpy.Environment(), list[float]()
    log = Log(env, flush=1.0, each=0.1)

    def commit(at: float) -> Steps:
        yield env.timeout(at)
        yield from log.commit()
        done.append(env.now)

    for at in (0.0, 0.2, 0.4, 0.6):
        env.process(commit(at))
    env.run()
    assert done == pytest.approx([1.1, 2.4, 2.4, 2.4])


def test_a_full_database_takes_one_turn_in_the_time_that_a_turn_needs_of_it() -> None:
    turn = _turn(move=Step(database=4 * _MS), reply=Step(database=6 * _MS))
    found = _run(turn, conversations=50, latency=0.1)
    name, rate = ceiling(turn.of_station(), {"database": 1.0})
    assert name == "database"
    assert rate == pytest.approx(100)
    assert found.rate == pytest.approx(rate, rel=0.04)
    assert found.utilization["database"] == pytest.approx(1.0, abs=0.01)


def test_conversations_that_do_not_meet_go_round_as_fast_as_one_alone() -> None:
    found = _run(_turn(reply=Step(database=0.01 * _MS)), conversations=20, latency=1.0, seconds=60)
    assert found.rate == pytest.approx(2 * 20 / 1.0, rel=0.05)  # a model's turn and a tool's turn every second
    assert found.overhead["p50"] < 1 * _MS


def test_throughput_and_time_are_those_of_mean_value_analysis() -> None:
    turn = _turn(claim=Step(database=20 * _MS))
    found = _run(turn, conversations=12, latency=0.5, seconds=60)
    # A pair of turns thinks once and visits the database twice: 0.25 s of thinking a visit on average.
    rate, time = closed(12, 0.25, 0.02)
    assert found.rate == pytest.approx(rate, rel=0.05)
    assert found.overhead["mean"] == pytest.approx(time, rel=0.2)


def test_conversations_are_as_many_as_turns_a_second_times_the_time_of_a_turn() -> None:
    found = _run(_turn(reply=Step(python=5 * _MS, database=2 * _MS)), conversations=30, latency=0.4)
    whole = found.overhead["mean"] + 0.2  # every other turn is a model's, of 0.4 s
    assert found.rate * whole == pytest.approx(30, rel=0.03)


def test_one_coordinators_interpreter_is_a_limit_that_two_of_them_move() -> None:
    turn = _turn(move=Step(python=10 * _MS))
    one, two = (_run(turn, conversations=40, latency=0.1, coordinators=n) for n in (1, 2))
    assert one.rate == pytest.approx(100, rel=0.05)
    assert two.rate == pytest.approx(200, rel=0.05)


def test_on_shared_cores_everything_adds_up() -> None:
    turn = _turn(move=Step(python=2 * _MS), claim=Step(database=3 * _MS), reply=Step(python=5 * _MS))
    found = _run(replace(turn, idle={"workers": 0.01}), conversations=60, latency=0.1, shared=1.1)
    assert found.rate == pytest.approx(100, rel=0.04)  # ten workers that do nothing use a tenth of a core


def test_a_lump_of_conversations_is_as_fast_as_they_are_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = _turn(move=Step(python=1 * _MS), claim=Step(python=2 * _MS, database=2 * _MS))
    one_by_one = _run(turn, conversations=400, latency=0.5, seconds=8, coordinators=2)
    monkeypatch.setattr("bench.capacity.simulate._MOST", 100)
    lumped = _run(turn, conversations=400, latency=0.5, seconds=8, coordinators=2)
    assert (one_by_one.lump, lumped.lump) == (1, 4)
    assert lumped.rate == pytest.approx(one_by_one.rate, rel=0.08)
    assert lumped.turn["mean"] == pytest.approx(one_by_one.turn["mean"], rel=0.1)


def _cost(calls: float, cpu: float, database: float = 0.0, quick: float = 0.0) -> Cost:
    return Cost(calls=calls, cpu=cpu, wall=9, quick=quick, database=database, transactions=1)


def test_all_measured_time_is_somewhere_in_the_turn(tmp_path: Path) -> None:
    found = Measurements(
        machine="one",
        cores=2,
        load=(0, 0),
        turns=10,
        turns_per_run=10,
        parts={
            "coordinator: move": _cost(1.1, 2, database=1),
            "coordinator: publish": _cost(1, 0.5, quick=0.9),
            "worker: claim": _cost(1, 1, database=1),
            "worker: answer of llm": _cost(0.5, 3),
            "worker: answer of agent": _cost(0.5, 1),
            "worker: reply": _cost(1, 2, database=1.9),
            "worker: wake": _cost(1, 0.5, quick=1.0),
        },
        processes={"coordinators": 4.0, "workers": 9.0, "database": 6.0, "broker": 2.0, "model": 1.0},
        idle={"workers": 10.0},
        flush=1.0,
        wal_bytes=1000,
    )
    found.write(tmp_path / "found.json")
    turn = demands(read(tmp_path / "found.json"))
    in_ms = {name: seconds * 1000 for name, seconds in turn.of_station().items()}
    assert in_ms == pytest.approx(found.processes)
    assert turn.commits() == 3
    assert turn.publish.confirm * 1000 == pytest.approx(0.4)


def test_all_measured_time_of_a_carried_turn_is_somewhere_in_it(tmp_path: Path) -> None:
    found = Measurements(
        machine="one",
        cores=2,
        load=(0, 0),
        turns=10,
        turns_per_run=10,
        parts={
            "worker: claim": _cost(0.1, 1, database=1),
            "worker: answer of llm": _cost(0.5, 3),
            "worker: answer of agent": _cost(0.5, 1),
            "worker: reply": _cost(1, 2, database=0.5),
            "worker: publish": _cost(0.1, 0.5, quick=0.9),
        },
        processes={"coordinators": 0.0, "workers": 5.0, "database": 1.2, "broker": 0.1, "model": 1.0},
        idle={"workers": 10.0},
        flush=1.0,
        wal_bytes=1000,
    )
    turn = demands(found)
    in_ms = {name: seconds * 1000 for name, seconds in turn.of_station().items()}
    assert turn.carried
    assert in_ms == pytest.approx(found.processes)
    assert turn.commits() == pytest.approx(1.1)
    assert turn.claim.python * 1000 == pytest.approx(1)  # of a claim that occurs
    assert turn.publish.confirm * 1000 == pytest.approx(0.4)


def test_a_carried_run_is_handed_on_only_where_others_wait_and_its_slice_is_over() -> None:
    turn = replace(_turn(claim=Step(python=50 * _MS)), carried=True)
    alone = _run(turn, conversations=10, latency=0.5, threads=1)
    assert alone.overhead["mean"] < 1 * _MS  # ten places for ten: none is claimed after the first

    waiting = _run(turn, conversations=20, latency=0.5, threads=1, seconds=200)
    # A place serves a run for a claim and at least two seconds, a pair of turns in half a second on average.
    assert waiting.rate == pytest.approx(10 * 4 * 2.25 / (2.25 + 0.05), rel=0.07)
    assert waiting.rate > _run(turn, conversations=20, latency=0.5, threads=1, seconds=200, slice_seconds=0.0).rate
