"""One turn, as an account of many of them says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.capacity.measurements import Cost

# Parts that are messages; a notice tells who watches, the others hand work on.
_WORK = ("publish", "wake")
_NOTICE = "notice"


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The parts of a turn of one way of running, by name; each cost is of one call of the part."""

    way: str
    parts: Mapping[str, Cost]

    @property
    def statements(self) -> float:
        """SQL statements a turn, without those that begin and end transactions."""
        return sum(cost.calls * cost.statements for cost in self.parts.values())

    @property
    def commits(self) -> float:
        """Transactions that wrote, a turn."""
        return sum(cost.calls * cost.commits for cost in self.parts.values())

    @property
    def round_trips(self) -> float:
        """Times that a turn waits for PostgreSQL; 0 on SQLite."""
        return sum(cost.calls * cost.round_trips for cost in self.parts.values())

    @property
    def messages(self) -> float:
        """Messages a turn that hand work on."""
        return sum(cost.calls for name, cost in self.parts.items() if _last(name) in _WORK)

    @property
    def notices(self) -> float:
        """Messages a turn that tell of it."""
        return sum(cost.calls for name, cost in self.parts.items() if _last(name) == _NOTICE)

    def table(self) -> str:
        """The parts and their sums as lines of text; CPU in milliseconds."""
        head = f"{'part':<32}{'calls':>8}{'CPU':>8}{'DB CPU':>8}{'statem.':>9}{'commits':>9}{'trips':>7}"
        lines = [f"{self.way}: one turn", head]
        for name, cost in self.parts.items():
            n = cost.calls
            lines.append(
                f"{name:<32}{n:>8.2f}{n * cost.cpu:>8.2f}{n * cost.database:>8.2f}{n * cost.statements:>9.2f}"
                f"{n * cost.commits:>9.2f}{n * cost.round_trips:>7.2f}"
            )
        cpu, database = (
            sum(cost.calls * getattr(cost, kind) for cost in self.parts.values()) for kind in ("cpu", "database")
        )
        lines.append(
            f"{'all':<32}{'':>8}{cpu:>8.2f}{database:>8.2f}{self.statements:>9.2f}{self.commits:>9.2f}"
            f"{self.round_trips:>7.2f}"
        )
        lines.append(f"messages that hand work on: {self.messages:.2f}, notices: {self.notices:.2f}")
        return "\n".join(lines)


def _last(name: str) -> str:
    """The part without the process that it is of."""
    return name.rpartition(": ")[2]
