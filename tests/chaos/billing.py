"""The bills of the model's provider, by its own ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from tests.chaos import ledgers
from tests.chaos.application import INPUT_PRICE, OUTPUT_PRICE

_MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Bill:
    """The cost of the calls of one conversation."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Both kinds."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def cost(self) -> Decimal:
        """US dollars."""
        return (INPUT_PRICE * self.prompt_tokens + OUTPUT_PRICE * self.completion_tokens) / _MILLION


def bills(path: Path) -> dict[str, Bill]:
    """By case."""
    calls: dict[str, list[dict[str, int]]] = defaultdict(list)
    for line in ledgers.read(path):
        calls[str(line["case"])].append(line)
    return {case: _sum(lines) for case, lines in calls.items()}


def _sum(lines: Iterable[dict[str, int]]) -> Bill:
    lines = list(lines)
    return Bill(
        calls=len(lines),
        prompt_tokens=sum(line["prompt_tokens"] for line in lines),
        completion_tokens=sum(line["completion_tokens"] for line in lines),
    )
