"""`python -m bench.peers.page`: docs/performance.md and its picture, from the JSON of a run of the benchmark."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(_ROOT))

from bench.peers.comparisons import sentences  # noqa: E402 - the path had to come first
from bench.peers.document import Findings, read  # noqa: E402
from bench.peers.roster import CONTENDERS, LEFT_OUT, Contender  # noqa: E402
from bench.peers.targets import judged, median_and_range  # noqa: E402
from bench.threads import POOL_THREADS, THREADS  # noqa: E402

FINDINGS = _ROOT / "bench" / "peers" / "findings.json"
PAGE = _ROOT / "docs" / "performance.md"
PICTURE = _ROOT / "docs" / "images" / "performance.png"

_INTRODUCTION = f"""# Performance

Turns a second of Turnwise and of other durable libraries, on the same work, measured side by side. `make bench-peers`
measures and writes this page: nothing on it is written by hand.

A *turn* is one answer taken. The work is a loop of a scripted model, which answers at once, and a tool that it
calls. A step of a peer's graph or workflow that takes an answer counts as a turn. Each library is configured as its own
documentation recommends, and each tool call is durable by itself. In every round each contender is started on an empty
database and broker of its own, warmed up and measured, in an order that chance decides. The program that measures
submits runs to Turnwise as a gateway does.

LangGraph and DBOS run in one process; a program could start several and divide its conversations among them. Bare
Celery has two workers, one for each hop. Turnwise is measured with one worker and with two.

In the tables, conversations at once share {THREADS} threads in each process of Turnwise, LangGraph and Celery that
has threads: answers take no time here, and with many threads Turnwise's workers and both peers were slower. Turnwise's
two pools have {POOL_THREADS} each, with which they were quicker. Models that take seconds want a thread for each call,
which costs little while it waits.

The figures are medians of the rounds, with the least and the greatest in brackets. A ratio is the median of the rounds'
ratios. Where a target has several loops, the worst of them counts."""

_PLAYED_ONCE = " A loop without a range was played in the first round alone: some contenders write gigabytes in it."

_MISSED = "[The time of a turn](turn-time.md) says where it goes, and what was tried for each figure that is missed."

_RATES = """## Turns a second

![Turns a second of each contender](images/performance.png)"""

_CPU = """## CPU of a turn

Milliseconds in all processes that work for the contender: its own, its database's and its broker's."""

_AHEAD = """## Where a peer is ahead

Beside the way of running Turnwise that keeps its record in the same kind of place: how many times as many turns a
second, and how many times less CPU a turn."""

_CONFIGURED = """## How each peer is configured

- LangGraph: of its [durability modes](https://docs.langchain.com/oss/python/langgraph/durable-execution) `sync` keeps
  each step before the next begins; `async` is its default; `exit` keeps nothing until the end, and is not measured.
  The graph is the agent of its quickstart, on `MessagesState`. *Plain state* is a list of dicts instead, which costs
  less. Synchronous savers and `invoke` were quicker than the asynchronous ones.
- DBOS: the model's and the tool's calls are steps of an asynchronous workflow. Of the
  [system databases](https://docs.dbos.dev/python/tutorials/database-connection) it recommends PostgreSQL for
  production; SQLite is its default. Pools and threads are as it sets them.
- Celery: results are ignored, and 8 messages are prefetched for each thread, since its
  [guide](https://docs.celeryq.dev/en/stable/userguide/optimizing.html) wants many for short tasks. Messages are
  persistent."""

_GUARANTEES = """## Guarantees

Settings as each contender found them. `synchronous` of SQLite: 1 is NORMAL, 2 is FULL."""

_AGAIN = """## Measure it yourself

    make bench-peers                                            # all of it: about an hour
    make bench-peers ARGS="--rounds 1 --loops 50x1 --once none" # the same in short
    python -m bench.peers --quick                               # what needs no server and no peer
    python -m bench.peers.page                                  # this page, from bench/peers/findings.json

The peers are installed from PyPI into `.venv-peers`, with the versions in `bench/peers/requirements.txt`. PostgreSQL
and RabbitMQ are used where they run, with the settings that they have. Measure while nothing else uses the machine."""


def written(findings: Findings) -> str:
    """Return the page."""
    played = [contender for contender in CONTENDERS if findings.of(contender.name)]
    parts = [
        _INTRODUCTION + (_PLAYED_ONCE if _has_loop_of_one_round(findings) else ""),
        _circumstances(findings),
        "## Targets\n\n" + _targets(findings) + "\n\n" + _MISSED,
        _RATES + "\n\n" + _loops(findings, played, "rate"),
        _CPU + "\n\n" + _loops(findings, played, "cpu"),
        _AHEAD + "\n\n" + "\n".join(f"- {sentence}" for sentence in sentences(findings)),
        _CONFIGURED,
        _GUARANTEES + "\n\n" + _guarantees(findings, played),
        "## Not measured\n\n" + _not_measured(findings),
        _AGAIN,
    ]
    return "\n\n".join(parts) + "\n"


def _circumstances(findings: Findings) -> str:
    before, after = findings.load
    servers = "; ".join(f"{name} {about}" for name, about in findings.servers.items())
    about = [
        f"Measured from {findings.begun} on; rounds: {findings.rounds}",
        f"{findings.machine}; load average {before} before, {after} after",
        servers,
    ]
    return " ".join(f"{part}." for part in about if part)


def _has_loop_of_one_round(findings: Findings) -> bool:
    rounds = [{s.round for c in CONTENDERS for s in findings.of(c.name, loop)} for loop in findings.loops()]
    return findings.rounds > 1 and any(len(found) == 1 for found in rounds)


def _targets(findings: Findings) -> str:
    rows = [[line.label, line.shown, line.floor_shown, line.aim_shown, line.verdict] for line in judged(findings)]
    return _table(["figure", "measured", "floor", "aim", "reached"], rows, right={1, 2, 3})


def _loops(findings: Findings, played: Sequence[Contender], field: str) -> str:
    loops = findings.loops()
    heads = ["", *(f"{turns:,} turns, {at_once} at once" for turns, at_once in loops)]
    rows = [
        [
            contender.label,
            *(
                median_and_range([getattr(sample, field) for sample in findings.of(contender.name, loop)])
                for loop in loops
            ),
        ]
        for contender in played
    ]
    return _table(heads, rows, right=set(range(1, len(heads))))


def _guarantees(findings: Findings, played: Sequence[Contender]) -> str:
    rows = []
    for contender in played:
        about = findings.contenders[contender.name]
        settings = ", ".join(f"{name}: {value}" for name, value in about.settings.items())
        versions = ", ".join(f"{name} {version}" for name, version in about.versions.items())
        rows.append([contender.label, contender.guarantee, settings, versions])
    return _table(["contender", "guarantee", "settings", "versions"], rows)


def _not_measured(findings: Findings) -> str:
    told = [f"- {name}: {why}" for name, why in LEFT_OUT.items()]
    told += [f"- `{name}`, in this run: {why}" for name, why in findings.left_out.items()]
    return "\n".join(told)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: set[int] | None = None) -> str:
    rules = ["---:" if column in (right or set()) else "---" for column in range(len(heads))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [heads, rules, *rows])


def main() -> None:
    """Write the page and the picture."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers.page", description=__doc__)
    parser.add_argument(
        "--json", type=Path, default=FINDINGS, metavar="FILE", help="default: bench/peers/findings.json"
    )
    given = parser.parse_args()
    from bench.peers.plot import draw  # matplotlib is an extra

    findings = read(given.json)
    PAGE.write_text(written(findings))
    draw(findings, PICTURE)


if __name__ == "__main__":
    main()
