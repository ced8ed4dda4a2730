"""The second run: whether processes grow while they serve one conversation after another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tests.chaos import conversations, faults, real_run
from tests.chaos.real_run import Outcome, Programme, Tell
from tests.chaos.stage import Setting, Stage

# After so many conversations a process has loaded and cached what it needs; its growth counts from there.
WARM = 200
# At most this much more, as a part of what it was.
AIM = 0.05
# Everything that may go wrong but for kills of our own processes, which would begin anew.
KINDS = (*faults.OUTAGES, *faults.CONNECTIONS)


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Resident memory of a process in bytes: after WARM conversations and after the last; and its pid at both times."""

    name: str
    before: int
    after: int
    same_process: bool

    @property
    def share(self) -> float:
        """The part that it has grown by."""
        return self.after / self.before - 1


class _Scale:
    """Weighs the processes once WARM conversations have ended, and whenever others have, so also after the last."""

    def __init__(self) -> None:
        self.warm: dict[str, tuple[int, int]] = {}
        self.last: dict[str, tuple[int, int]] = {}

    def __call__(self, stage: Stage, ended: int) -> None:
        if ended >= WARM:
            self.last = _resident(stage.fleet.pids())
            self.warm = self.warm or self.last

    def growth(self) -> list[Growth]:
        """Of each process that is there at both times."""
        return [
            Growth(name=name, before=self.warm[name][1], after=size, same_process=self.warm[name][0] == pid)
            for name, (pid, size) in self.last.items()
            if name in self.warm
        ]


def play(setting: Setting, count: int, folder: Path, tell: Tell) -> tuple[Outcome, list[Growth]]:
    """Return the outcomes of so many conversations, and the growth of the processes.

    Nothing is compared with a quiet run, and no limit bites: the other run does that.
    """
    made = [
        replace(one, cut=None) if one.cut in ("cost", "tokens") else one
        for one in conversations.make(count, setting.seed)
    ]
    scale = _Scale()
    programme = Programme(conversations=made, wanted={})
    outcome = real_run.play(setting, programme, folder, tell, on_progress=scale)
    return outcome, scale.growth()


def _resident(pids: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    found = {}
    for name, pid in pids.items():
        status = Path(f"/proc/{pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        found[name] = pid, int(line.split()[1]) * 1024
    return found
