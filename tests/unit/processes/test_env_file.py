"""Lines of the `.env` file that cannot be read: each stops the process, with its number and the setting's name."""

from __future__ import annotations

import logging
import os
from decimal import Decimal
from pathlib import Path

import pytest

from turnwise.errors import ConfigurationError
from turnwise.processes.settings import load_settings


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("TURNWISE_"):
            monkeypatch.delenv(name)


@pytest.mark.parametrize(
    "line",
    [
        "TURNWISE_MAX_COST: 5",
        "TURNWISE_MAX_COST:5",
        "TURNWISE_MAX_COST 5",
        "TURNWISE_MAX_COST",
        "turnwise_max_cost 5",
        "export TURNWISE_MAX_COST 5",
        'TURNWISE_MAX_COST="5',
        "TURNWISE_MAX_COST='5' USD",
    ],
)
def test_a_setting_without_a_value_is_refused_with_file_and_line(tmp_path: Path, line: str) -> None:
    (tmp_path / ".env").write_text(f"# limits\nTURNWISE_MAX_TURNS=5\n\n\n{line}\nTURNWISE_CONCURRENCY=3\n")

    with pytest.raises(ConfigurationError) as refused:
        load_settings()

    assert str(refused.value) == (
        f"{tmp_path / '.env'}, line 5: TURNWISE_MAX_COST has no value that can be read; expected "
        "TURNWISE_MAX_COST=VALUE, with a closing quote for an opening one"
    )


@pytest.mark.parametrize("line", ["GREETING: hello", "GREETING hello", 'GREETING="hello', "=5"])
def test_a_line_of_another_program_that_cannot_be_read_is_refused_and_not_quoted(tmp_path: Path, line: str) -> None:
    (tmp_path / ".env").write_text(f"TURNWISE_MAX_TURNS=5\n{line}\n")

    with pytest.raises(ConfigurationError) as refused:
        load_settings()

    assert str(refused.value) == (
        f"{tmp_path / '.env'}, line 2 cannot be read; expected NAME=VALUE, with a closing quote for an opening one, or "
        "a comment that begins with #"
    )


def test_every_line_is_told_at_once_beside_names_that_do_not_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".env").write_text("TURNWISE_MAX_COTS: 5\nGREETING hello\n")
    monkeypatch.setenv("TURNWISE_MAX_TURN", "5")

    with caplog.at_level(logging.WARNING), pytest.raises(ConfigurationError) as refused:
        load_settings()

    text = str(refused.value)
    assert "line 1: TURNWISE_MAX_COTS has no value" in text
    assert "line 2 cannot be read" in text
    assert "TURNWISE_MAX_COTS (in .env) is not a setting; did you mean TURNWISE_MAX_COST?" in text
    assert "TURNWISE_MAX_TURN is not a setting" in text
    assert not caplog.records  # the parser's own warning names neither file nor setting


def test_a_secret_in_a_line_that_cannot_be_read_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TURNWISE_AUTH_TOKEN winter-of-1947\nAPI_KEY winter-of-1947\n")

    with pytest.raises(ConfigurationError, match="TURNWISE_AUTH_TOKEN has no value") as refused:
        load_settings()

    assert "winter" not in str(refused.value)


def test_lines_that_can_be_read_in_other_forms_are_taken(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "\ufeff# a comment\r\nexport TURNWISE_MAX_COST = '5' # dollars\r\n  TURNWISE_MAX_TURNS=7\r\nOTHER\r\n"
        'KEY="of several\nlines"\nTURNWISE_CONCURRENCY=3',
        encoding="utf-8",
        newline="",
    )

    found = load_settings()

    assert (found.max_cost, found.max_turns, found.concurrency) == (Decimal(5), 7, 3)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"TURNWISE_MAX_TURNS=5\nNAME=\xff\xfe\n")

    with pytest.raises(ConfigurationError, match=r"\.env cannot be read \(.*\); expected a text in UTF-8 that this"):
        load_settings()


def test_a_folder_of_that_name_is_no_file_of_settings(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    assert load_settings().max_cost is None
