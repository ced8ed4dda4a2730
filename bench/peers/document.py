"""The findings of a run of the benchmark: the JSON from which the page is written."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class Sample(BaseModel):
    """One loop of one contender in one round: turns a second, CPU in milliseconds a turn by kind of process."""

    model_config = ConfigDict(frozen=True)

    contender: str
    round: int
    turns: int
    conversations: int
    rate: float
    cpu_ms: dict[str, float]
    bytes_per_turn: float | None = None

    @property
    def loop(self) -> tuple[int, int]:
        """The turns, and the conversations at once."""
        return self.turns, self.conversations

    @property
    def cpu(self) -> float:
        """CPU of all processes, in milliseconds a turn."""
        return sum(self.cpu_ms.values())


class Figure(BaseModel):
    """A single measurement that is not a loop, by name, with its unit in the name."""

    model_config = ConfigDict(frozen=True)

    name: str
    round: int
    value: float


class Played(BaseModel):
    """The configuration of a contender, as it found its settings, and the versions of its packages."""

    model_config = ConfigDict(frozen=True)

    settings: dict[str, str]
    versions: dict[str, str]


class Findings(BaseModel):
    """All that was found in one run; `load` is the machine's load average before and after."""

    model_config = ConfigDict(frozen=True)

    begun: str
    machine: str
    cores: int
    load: tuple[float, float]
    servers: dict[str, str]
    rounds: int
    contenders: dict[str, Played] = Field(default_factory=dict)
    samples: list[Sample] = Field(default_factory=list)
    figures: list[Figure] = Field(default_factory=list)
    left_out: dict[str, str] = Field(default_factory=dict)

    def of(self, contender: str, loop: tuple[int, int] | None = None) -> list[Sample]:
        """The samples of a contender, of this loop alone if one is named, in the order of the rounds."""
        found = [s for s in self.samples if s.contender == contender and loop in (None, s.loop)]
        return sorted(found, key=lambda sample: sample.round)

    def loops(self) -> list[tuple[int, int]]:
        """The loops that were played, those of one conversation first."""
        return sorted({sample.loop for sample in self.samples}, key=lambda loop: (loop[1], loop[0]))

    def values(self, figure: str) -> list[float]:
        """The measurements of a figure."""
        return [found.value for found in self.figures if found.name == figure]

    def write(self, file: Path) -> None:
        """Write as JSON."""
        file.write_text(self.model_dump_json(indent=1) + "\n")


def read(file: Path) -> Findings:
    """Read what `Findings.write` wrote; raises `FileNotFoundError`, pydantic's `ValidationError`."""
    return Findings.model_validate_json(file.read_bytes())
