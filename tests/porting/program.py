"""A program that is compared: how it is started, what its human types, what its models answer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

FOLDER = Path(__file__).parent / "programs"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Call(_Strict):
    """A tool that the model uses: a call where the request offers the tool, the tool's JSON as text elsewhere."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Speaker(_Strict):
    """One model's part: its answers in order, to requests whose system message holds `system`.

    `last` narrows it to requests whose last message matches the regular expression. `always` gives the same answers
    round and round.
    """

    system: str = ""
    last: str = ""
    says: list[str | Call]
    always: bool = False


class Program(_Strict):
    """One program of the examples.

    `path` is relative to the examples. `module` starts it with `-m`. `concurrent`: its requests come in no order;
    `repeated`: the reference's client sends some of them twice, as its connection ended with an event loop.
    `printed`: regular expressions of what its output must have in common. `files`: texts that it reads, by path
    relative to the directory that it is started in. `environment`: variables that it needs. `default_model`:
    it names no model, and each side has a default of its own. `unserved`: why it has nothing to serve. `remark`: what
    is to say about its differences.
    """

    path: str
    module: bool = False
    arguments: list[str] = Field(default_factory=list)
    input: list[str] = Field(default_factory=list)
    speakers: list[Speaker]
    printed: list[str] = Field(default_factory=list)
    files: dict[str, str] = Field(default_factory=dict)
    environment: dict[str, str] = Field(default_factory=dict)
    concurrent: bool = False
    repeated: bool = False
    default_model: bool = False
    unserved: str = ""
    remark: str = ""
    distributed: bool = False

    @property
    def name(self) -> str:
        """The path without its suffix."""
        return self.path.removesuffix(".py")

    @property
    def command(self) -> list[str]:
        """Arguments of the interpreter, in a directory that holds `examples`."""
        if self.module:
            return ["-m", "examples." + self.name.replace("/", "."), *self.arguments]
        return [f"examples/{self.path}", *self.arguments]


def load_programs(only: Iterable[str] = (), folder: Path = FOLDER) -> list[Program]:
    """The programs in the order of their paths; `only` keeps those whose path holds one of the words."""
    programs = [Program.model_validate_json(file.read_text("utf-8")) for file in sorted(folder.glob("*.json"))]
    words = list(only)
    kept = [program for program in programs if not words or any(word in program.path for word in words)]
    return sorted(kept, key=lambda program: program.name)
