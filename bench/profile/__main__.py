"""`python -m bench.profile`: statements, commits, messages and CPU of a turn, by part.

Counts do not depend on the machine; CPU does. What no turn causes, such as heartbeats and sweeps, is not counted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.profile import distributed, embedded


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("way", choices=["embedded", "distributed"])
    parser.add_argument("--turns", type=int, default=200, help="the length of the conversation that is measured")
    parser.add_argument("--moves", choices=["worker", "coordinator"], default="worker")
    parser.add_argument(
        "--pools",
        action=argparse.BooleanOptionalAction,
        help="a worker for models and another for tools (default: with --moves coordinator)",
    )
    given = parser.parse_args()
    if given.way == "embedded":
        turn = embedded.profile(given.turns, moves=given.moves, pools=bool(given.pools))
    else:
        turn = distributed.profile(given.turns, moves=given.moves, pools=given.pools)
    print(turn.table())


if __name__ == "__main__":
    main()
