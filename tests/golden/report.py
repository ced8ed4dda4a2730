"""Prints how many scenarios go as recorded, and the first difference of each that does not.

python -m tests.golden.report --file handwritten --id h01-stall --async --transcript
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .ahead import embedded, over_rabbitmq, over_redis, playing
from .chosen import third
from .compare import Difference, compare
from .expected import expected_differences
from .model import FILES, Scenario, load
from .player import play, play_in_event_loop
from .record import Observation

Play = Callable[[Scenario], Observation]

_IN_PROCESS: dict[str, Play] = {"run": play, "run_async": play_in_event_loop}
_SERVED = {"embedded": embedded, "rabbitmq": over_rabbitmq, "redis": over_redis}


def main(arguments: list[str] | None = None) -> int:
    """0 if every chosen scenario goes as recorded or is expected not to; else 1."""
    options = _parser().parse_args(arguments)
    chosen = {file: _chosen(file, options) for file in options.file or FILES}
    started = time.perf_counter()
    with _player(options.way, [scenario for scenarios in chosen.values() for scenario in scenarios]) as player:
        failed = sum(_report_file(file, scenarios, player, options) for file, scenarios in chosen.items())
    print(f"{failed} failed, {time.perf_counter() - started:.1f} s")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="golden.report", description="Holds the engine against recorded scenarios.")
    parser.add_argument("--file", action="append", choices=FILES, help="only this file (repeatable)")
    parser.add_argument("--id", action="append", help="only ids that start with this (repeatable)")
    parser.add_argument("--feature", help="only scenarios with this label")
    ways = parser.add_mutually_exclusive_group()
    ways.set_defaults(way="run")
    ways.add_argument("--async", dest="way", action="store_const", const="run_async", help="run_async instead of run")
    ways.add_argument(
        "--embedded", dest="way", action="store_const", const="embedded", help="over HTTP, served by `turnwise up`"
    )
    ways.add_argument(
        "--distributed",
        dest="way",
        choices=["rabbitmq", "redis"],
        help="over HTTP, served by processes on that broker; only the third that stands for all",
    )
    parser.add_argument("--limit", type=int, default=10, help="differences shown per file (default 10, 0: all)")
    parser.add_argument("--ids", action="store_true", help="only the ids of those that fail, one per line")
    parser.add_argument("--transcript", action="store_true", help="the messages observed and recorded as well")
    return parser


@contextmanager
def _player(way: str, scenarios: Sequence[Scenario]) -> Iterator[Play]:
    if way in _IN_PROCESS:
        yield _IN_PROCESS[way]
        return
    with tempfile.TemporaryDirectory() as folder, playing(_SERVED[way], scenarios, Path(folder)) as ahead:
        yield ahead.play


def _report_file(file: str, chosen: Sequence[Scenario], player: Play, options: argparse.Namespace) -> int:
    if not chosen:
        return 0
    expected = expected_differences()
    failures: list[tuple[Scenario, Observation, Difference]] = []
    as_expected = 0
    for scenario in chosen:
        observed = player(scenario)
        if difference := compare(observed, scenario.golden):
            if scenario.id in expected:
                as_expected += 1
            else:
                failures.append((scenario, observed, difference))
    passed = len(chosen) - len(failures) - as_expected
    print(f"{file}: {passed} of {len(chosen)} pass, {as_expected} differ as expected, {len(failures)} fail")
    for scenario, observed, difference in failures[: options.limit or None]:
        _show(scenario, observed, difference, options)
    return len(failures)


def _chosen(file: str, options: argparse.Namespace) -> list[Scenario]:
    scenarios = third() if options.way in ("rabbitmq", "redis") else load(file)
    return [scenario for scenario in scenarios if scenario in load(file) and _is_chosen(scenario, options)]


def _is_chosen(scenario: Scenario, options: argparse.Namespace) -> bool:
    by_id = not options.id or any(scenario.id.startswith(prefix) for prefix in options.id)
    return by_id and (not options.feature or options.feature in scenario.features)


def _show(scenario: Scenario, observed: Observation, difference: Difference, options: argparse.Namespace) -> None:
    print(scenario.id if options.ids else f"\n{scenario.id}: {scenario.why or ', '.join(scenario.features)}")
    if options.ids:
        return
    print(difference)
    if options.transcript:
        for number, (golden_run, observed_run) in enumerate(
            zip(scenario.golden.runs, observed.runs, strict=True), start=1
        ):
            print(f"  run {number}, golden:")
            for message in golden_run.taken:
                print(f"    {message.model_dump_json(exclude_defaults=True, by_alias=True)}")
            print(f"  run {number}, observed:")
            for seen in observed_run.taken:
                print(f"    {seen.model_dump_json(exclude_defaults=True)}")
            print(f"    ends {observed_run.ends}, result {observed_run.result}")


if __name__ == "__main__":
    sys.exit(main())
