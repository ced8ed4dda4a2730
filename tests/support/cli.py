"""The command line in this process, away from the settings of whoever runs the tests."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from turnwise.cli.main import app


class Terminal:
    """Runs commands in `folder`; nobody sits at it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *arguments: str, code: int = 0, input: str = "") -> str:
        """Standard output of a command that ends with `code`, or its standard error if that is not 0."""
        result = self._invoke(*arguments, input=input)
        assert result.exit_code == code, result.output
        return result.stderr if code else result.stdout

    def printed(self, *arguments: str, code: int) -> str:
        """Standard output of a command that ends with `code`."""
        result = self._invoke(*arguments)
        assert result.exit_code == code, result.output
        return result.stdout

    def whole(self, *arguments: str) -> str:
        """Standard output and standard error of a command that ends with 0."""
        result = self._invoke(*arguments)
        assert result.exit_code == 0, result.output
        return result.output

    def refused(self, *arguments: str) -> str:
        """The one line that a command of bad usage leaves on standard error."""
        error = self.run(*arguments, code=2).strip()
        if error.startswith("{"):  # a command that serves says it in its log
            return str(json.loads(error)["event"])
        assert error.startswith("turnwise: "), error
        assert "Traceback" not in error
        return error.removeprefix("turnwise: ")

    def _invoke(self, *arguments: str, input: str = "") -> Result:
        """Run a command as a process of its own would: the logs that it sets up end with it."""
        root = logging.getLogger()
        handlers, level = list(root.handlers), root.level
        try:
            return CliRunner().invoke(app, list(arguments), input=input, catch_exceptions=False)
        finally:
            root.handlers[:], root.level = handlers, level
            logging.captureWarnings(False)


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """A terminal in an empty folder with no settings; the process's logs are put back afterwards."""
    for name in [name for name in os.environ if name.startswith(("TURNWISE_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    yield Terminal(tmp_path)


@pytest.fixture
def migrated(terminal: Terminal) -> Terminal:
    """The same with a database in the folder."""
    terminal.run("migrate")
    return terminal
