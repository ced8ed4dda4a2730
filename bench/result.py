"""One measurement."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Result:
    """A loop of `turns` answers, `conversations` at once; CPU in milliseconds a turn, by process."""

    way: str
    turns: int
    conversations: int
    seconds: float
    cpu_ms: dict[str, float] = field(default_factory=dict)
    bytes_per_turn: float | None = None

    @property
    def rate(self) -> float:
        """Turns a second, over all conversations."""
        return self.turns * self.conversations / self.seconds
