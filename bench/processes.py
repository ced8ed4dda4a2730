"""CPU time and memory of processes, from /proc; zeros where there is none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of these processes so far; one that is gone counts nothing."""
    return sum(_of(Path(f"/proc/{pid}/stat"))[1] for pid in pids)


def cpu_by_name(names: Iterable[str]) -> dict[str, float]:
    """The same for all processes of each name, such as a database's."""
    wanted = dict.fromkeys(names, 0.0)
    for folder in Path("/proc").glob("[0-9]*"):
        name, seconds = _of(folder / "stat")
        if name in wanted:
            wanted[name] += seconds
    return wanted


def peak_memory(pid: int) -> int:
    """The greatest resident memory of a process so far, in bytes; 0 where there is no /proc."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)


def difference(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Return the time that each name used in between."""
    return {name: after[name] - before.get(name, 0.0) for name in after}


def _of(stat: Path) -> tuple[str, float]:
    try:
        text = stat.read_text()
    except OSError:  # it ended, or this system has no /proc
        return "", 0.0
    name = text[text.index("(") + 1 : text.rindex(")")]
    fields = text[text.rindex(")") + 2 :].split()
    return name, (int(fields[11]) + int(fields[12])) / _TICK
