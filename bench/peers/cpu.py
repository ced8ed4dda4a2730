"""The CPU time of a contender: its processes, and the servers that work for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.processes import cpu_seconds

Times = Mapping[str, Mapping[int, float]]

# How a server process of PostgreSQL that has a client names itself: with the client's address.
_CLIENT = re.compile(r"\(\d+\)|\[local\]")


def times(pids: Sequence[int], database: str | None, *, broker: bool) -> Times:
    """Return the seconds so far of each process: the contender's, and those of its database and broker, if it has any.

    Of PostgreSQL, the connections to this database count, and the processes that work for all databases.
    """
    found = {"processes": list(pids)}
    if database is not None:
        found["PostgreSQL"] = [pid for pid, command in _commands() if is_of(command, database)]
    if broker:
        found["RabbitMQ"] = [pid for pid, command in _commands() if "beam.smp" in command.partition(" ")[0]]
    return {group: {pid: cpu_seconds([pid]) for pid in members} for group, members in found.items()}


def is_of(command: str, database: str) -> bool:
    """Tell whether this process is one of PostgreSQL that works for the database."""
    if command.startswith("postgres: "):
        return _CLIENT.search(command) is None or f" {database} " in command
    return command.partition(" ")[0].endswith("/postgres")


def used(before: Times, after: Times) -> dict[str, float]:
    """Return the seconds of each group in between. A process that ended in between counts nothing."""
    return {
        group: sum(seconds - before.get(group, {}).get(pid, 0.0) for pid, seconds in members.items())
        for group, members in after.items()
    }


def _commands() -> list[tuple[int, str]]:
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it ended
            continue
        found.append((int(file.parent.name), command))
    return found
