"""Commands that cannot start: their environment, and the one line that they say."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.e2e.processes import APP, environment, free_port


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of a command that could not start; one that serves says it in its log, which is JSON here."""
    assert done.returncode == 2, done.stdout + done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    if not lines[0].startswith("{"):
        return lines[0].removeprefix("turnwise: ")
    told = json.loads(lines[0])
    assert (told["level"], told["action"]) == ("critical", "start_failed")
    return str(told["event"])


def settings(tmp_path: Path, **given: str) -> dict[str, str]:
    """An environment in which everything is there but what `given` breaks."""
    usual = {"app": APP, "bind": f"127.0.0.1:{free_port()}", "database_url": f"sqlite:///{tmp_path / 'own.db'}"}
    return environment(**{**usual, **given})
