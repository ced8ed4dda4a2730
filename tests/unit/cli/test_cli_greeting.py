"""The addresses that `turnwise up` prints for people."""

from __future__ import annotations

import pytest

from turnwise import App
from turnwise.cli.commands.services import _greet
from turnwise.processes.settings import load_settings


@pytest.mark.parametrize(("root", "console"), [("", "http://127.0.0.1:1/"), ("/team", "http://127.0.0.1:1/team/")])
def test_a_person_is_told_where_the_console_is(root: str, console: str, capsys: pytest.CaptureFixture[str]) -> None:
    _greet(load_settings(log_format="console", root_path=root), App("office"), "http://127.0.0.1:1")

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["console", console] in lines


def test_a_program_that_reads_lines_is_told_one_address(capsys: pytest.CaptureFixture[str]) -> None:
    _greet(load_settings(log_format="json"), App("office"), "http://127.0.0.1:1")

    assert "console" not in capsys.readouterr().out
