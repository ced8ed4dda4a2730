"""Watches, while a schedule runs, that no limit is passed at any moment."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

from turnwise.record.roles.inspector import InspectorRole
from turnwise.testing.simulator.promises import Violation, budgets_kept
from turnwise.testing.simulator.record_copy import History

# The transactions after which more may have been taken than before.
_TAKING = frozenset({"reserve", "reply", "expire_leases", "release", "defer"})


class LimitsWatch:
    """Looks at every budget after each commit that may take from one."""

    def __init__(self, store: InspectorRole) -> None:
        self._store = store
        self.found: list[Violation] = []

    def look(self, what: str) -> None:
        """Something was committed."""
        if what not in _TAKING or self.found:
            return
        self.found += budgets_kept(History({"budgets": self._store.table("budgets")}), quiet=False)
        limited = [run for run in self._store.table("runs") if run["max_cost"] or run["max_tokens"]]
        if not limited:
            return
        tokens: Counter[str] = Counter()
        cost: dict[str, Decimal] = {}
        for row in self._store.table("reservations"):
            if row["settled_at"] is None:
                tokens[row["run_id"]] += row["tokens"]
                cost[row["run_id"]] = cost.get(row["run_id"], Decimal(0)) + (row["cost"] or 0)
        for run in limited:
            taken = run["prompt_tokens"] + run["completion_tokens"] + tokens[run["id"]]
            spent = run["cost"] + cost.get(run["id"], Decimal(0))
            if run["max_tokens"] and taken > run["max_tokens"]:
                self._say(run["id"], f"{taken} tokens of {run['max_tokens']}")
            if run["max_cost"] and spent > run["max_cost"]:
                self._say(run["id"], f"{spent} USD of {run['max_cost']}")

    def _say(self, run_id: str, what: str) -> None:
        text = f"{run_id} had used or reserved {what}"
        self.found.append(Violation(promise="no overspend", sentence=text, run=run_id))
