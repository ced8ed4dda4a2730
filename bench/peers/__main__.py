"""`python -m bench.peers`: Turnwise beside other durable libraries, interleaved, in rounds.

The peers need their environment, which `make bench-peers` sets up. `python -m bench.peers.page` writes the page.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(_ROOT))

from bench.peers import figures  # noqa: E402 - the path had to come first
from bench.peers.contest import missing  # noqa: E402
from bench.peers.roster import BY_NAME, CONTENDERS  # noqa: E402
from bench.peers.rounds import Benchmark  # noqa: E402
from bench.peers.targets import judged  # noqa: E402

LOOPS = ((50, 1), (800, 1), (50, 50))
# Libraries that write the whole state at each step write gigabytes in this one.
ONCE = ((800, 50),)
_QUICK = ((50, 1),)


def loops_of(text: str) -> list[tuple[int, int]]:
    """Read `50x1,800x50`, turns and conversations at once; `none` is no loop."""
    found = []
    for part in text.split(",") if text != "none" else []:
        turns, found_x, conversations = part.partition("x")
        if not (found_x and turns.isdigit() and conversations.isdigit() and int(turns) and int(conversations)):
            raise argparse.ArgumentTypeError(f"{part!r} is not TURNSxCONVERSATIONS, for instance 50x1")
        found.append((int(turns), int(conversations)))
    return found


def main() -> None:
    """Measure, print, and write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[*BY_NAME, *figures.ALL], help="only these")
    parser.add_argument("--loops", type=loops_of, default=LOOPS, help="TURNSxCONVERSATIONS, comma-separated")
    parser.add_argument("--once", type=loops_of, default=ONCE, help="those of the first round only; `none` for none")
    parser.add_argument("--quick", action="store_true", help="one short round of what needs no server and no peer")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the findings are written after each round")
    given = parser.parse_args()
    chosen = [contender for contender in CONTENDERS if given.only is None or contender.name in given.only]
    alone = [name for name in figures.ALL if given.only is None or name in given.only]
    loops, once, rounds = given.loops, given.once, given.rounds
    if given.quick:
        chosen = [contender for contender in chosen if not (contender.needs or contender.is_peer)]
        alone, loops, once, rounds = [], _QUICK, (), 1
    if absent := missing(chosen):
        parser.error(f"{', '.join(absent)}: no environment for peers is in .venv-peers; `make bench-peers` sets it up")
    benchmark = Benchmark(chosen, alone, loops, once, lambda line: print(line, flush=True))
    benchmark.run(rounds, given.json)
    print()
    for line in judged(benchmark.findings):
        print(f"{line.label:<72}{line.shown:>24}   floor {line.floor_shown:<14} aim {line.aim_shown}")


if __name__ == "__main__":
    main()
