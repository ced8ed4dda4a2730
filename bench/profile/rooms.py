"""`python -m bench.profile.rooms FILE`: where the processor time of turns goes, by the folder of the code.

FILE holds the stacks that py-spy has recorded (`--format raw`) of processes that take turns. A sample counts for the
innermost frame of Turnwise's own, together with the libraries that this frame calls.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

# Frames of threads that take turns, in a worker and in a script; all others keep watch.
_TAKES_TURNS = ("turnwise_responders/", "turnwise/tasks/")
_OWN = "turnwise"
_FUNCTIONS = 12


@dataclass
class Rooms:
    """Samples by folder and by function."""

    folders: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)

    def add(self, frames: list[str], samples: int) -> None:
        """Count the samples of a stack, outermost frame first; stacks of other threads are left out."""
        own = [frame for frame in frames if _path(frame).startswith(_OWN)]
        if not any(_path(frame).startswith(_TAKES_TURNS) for frame in own):
            return
        path, called = _path(own[-1]), own[-1].partition(" (")[0]
        self.folders[path.rpartition("/")[0]] += samples
        self.functions[f"{path}: {called}"] += samples

    def table(self) -> str:
        """Shares of all samples, the largest first: folders, and the functions that took most themselves."""
        total = self.folders.total()
        lines = [f"{total:,} samples"]
        for counts in (self.folders.most_common(), self.functions.most_common(_FUNCTIONS)):
            lines += ["", *(f"{100 * count / total:6.1f} %  {name}" for name, count in counts)]
        return "\n".join(lines)


def rooms_of(stacks: Iterable[str]) -> Rooms:
    """Count stacks as py-spy writes them: `outer (file:line);inner (file:line) samples`.

    Raises:
        ValueError: A line does not end with a number.
    """
    found = Rooms()
    for line in stacks:
        stack, _, samples = line.rpartition(" ")
        found.add(stack.split(";"), int(samples))
    return found


def _path(frame: str) -> str:
    """The file of a frame, below the folder that is imported from."""
    return frame.rpartition(" (")[2].partition(":")[0]


def main() -> None:
    """Read the file, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.profile.rooms", description=__doc__)
    parser.add_argument("file", type=Path, help="what `py-spy record --format raw --output FILE` has written")
    print(rooms_of(parser.parse_args().file.read_text().splitlines()).table())


if __name__ == "__main__":
    main()
