"""Many conversations in one event loop, and the same one by one."""

from __future__ import annotations

from bench import in_process
from bench.peers.figures import names


def measure() -> dict[str, float]:
    """Return the ratio of the CPU that a turn takes."""
    return {names.SIDE_BY_SIDE: in_process.side_by_side(repeats=1)}
