"""`python -m bench.capacity measure|check|predict`: what a turn costs, whether a simulation says so, what it foresees.

`measure` writes a JSON file; the other two read it. `check` runs real processes beside the simulation, `predict` needs
no server, and writes tables and plots. matplotlib and simpy are in the extra `bench`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(_ROOT))

_HERE = Path(__file__).parent
_CARRIED, _COORDINATED = _HERE / "measurements.json", _HERE / "measurements-coordinator.json"
_SEEN = _HERE / "seen.json"


def main() -> None:
    """Do what is asked for, and print it."""
    parser = argparse.ArgumentParser(prog="python -m bench.capacity", description=__doc__)
    parser.add_argument("what", choices=["measure", "check", "predict"])
    parser.add_argument("--moves", choices=["coordinator", "worker"], default="worker", help="measure: who makes them")
    parser.add_argument("--measurements", type=Path, help="the JSON file to write, or to read")
    parser.add_argument("--images", type=Path, default=_ROOT / "docs" / "images", help="predict: where plots go")
    parser.add_argument("--again", action="store_true", help="check: compare with the real runs of the last time")
    given = parser.parse_args()
    file = given.measurements or (_CARRIED if given.moves == "worker" else _COORDINATED)
    if given.what == "measure":
        from bench.capacity.measure import measure

        found = measure(moves=given.moves)
        found.write(file)
        print(file.read_text(), end="")
    elif given.what == "check":
        from bench.capacity.check import check

        check(file, _SEEN, again=given.again)
    else:
        from bench.capacity.predict import predict

        predict(file, _COORDINATED, given.images)


if __name__ == "__main__":
    main()
