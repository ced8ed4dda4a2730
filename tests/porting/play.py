"""Start a program as a process, against a server that plays its models."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from turnwise.testing.fake_llm.server import FakeLLMServer

from .program import Program
from .script import Request, ScriptedModels

STAND_IN = Path(__file__).parent / "stand_in"
ROOT = Path(__file__).parents[2]
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE")


@dataclass(frozen=True, kw_only=True)
class Played:
    """One process and its conversation; `code` is None where it had to be stopped."""

    code: int | None
    output: str
    errors: str
    requests: list[Request] = field(default_factory=list)
    unscripted: list[str] = field(default_factory=list)
    left: int = 0


def prepare(here: Path, directory: Path, program: Program) -> None:
    """Make a directory fit to start the program in: the examples of `directory`, and the program's own files."""
    (here / "examples").symlink_to(directory / "examples")
    for name, text in program.files.items():
        file = here / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


@dataclass(frozen=True, kw_only=True)
class Side:
    """One way to run programs: an interpreter, a directory that holds `examples`, and what comes before a program.

    `paths` are put at the front of the import path. Each program runs in a directory of its own, so that none finds
    what another wrote.
    """

    python: str
    directory: Path
    before: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    seconds: float = 90

    def play(self, program: Program) -> Played:
        """Run the program to its end; its human's lines are its input, which ends after them."""
        models = ScriptedModels(program.speakers)
        with FakeLLMServer(models) as server:
            return self.play_at(server.base_url, models, program)

    def play_at(
        self, base_url: str, models: ScriptedModels, program: Program, environment: Mapping[str, str] | None = None
    ) -> Played:
        """The same with models that are there already, behind `base_url`."""
        with TemporaryDirectory() as place:
            here = Path(place)
            prepare(here, self.directory, program)
            variables = self._environment(here, base_url) | program.environment | dict(environment or {})
            code, output, errors = self._run(program, here, variables)
        return Played(
            code=code,
            output=output,
            errors=errors,
            requests=models.requests,
            unscripted=models.unscripted,
            left=models.left,
        )

    def _run(self, program: Program, here: Path, environment: dict[str, str]) -> tuple[int | None, str, str]:
        command = [self.python, *self.before, *program.command]
        lines = "".join(f"{line}\n" for line in program.input)
        with subprocess.Popen(
            command,
            cwd=here,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        ) as process:
            try:
                output, errors = process.communicate(lines, timeout=self.seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                output, errors = process.communicate()
                return None, output, errors
            return process.returncode, output, errors

    def _environment(self, here: Path, base_url: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        paths = [*self.paths, here]
        return kept | {
            "HOME": str(here),
            "PYTHONPATH": os.pathsep.join(str(path) for path in paths),
            "OPENAI_API_KEY": "scripted",
            "OPENAI_BASE_URL": base_url,
            "OPENAI_API_BASE": base_url,
            "COLUMNS": "200",
            "TERM": "dumb",
        }
