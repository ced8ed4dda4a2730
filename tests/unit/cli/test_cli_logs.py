"""Logs: one form for everything, prose for people and fields for machines."""

from __future__ import annotations

import io
import json
import logging
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Literal

import pytest

from turnwise.base.text import visible
from turnwise.errors import ConfigurationError
from turnwise.observability.logs import begin_logging, configure_logging, tell_fault


@pytest.fixture(autouse=True)
def _the_process_keeps_its_logs() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level
    logging.captureWarnings(False)


def test_off_a_terminal_a_record_is_a_json_object_with_its_fields() -> None:
    stream = io.StringIO()
    configure_logging("auto", "INFO", stream)

    logging.getLogger("turnwise.record").info("Took over %d asks", 3, extra={"action": "taken_over"})

    told = json.loads(stream.getvalue())
    assert told.pop("timestamp").endswith("Z")
    assert told == {
        "event": "Took over 3 asks",
        "level": "info",
        "logger": "turnwise.record",
        "action": "taken_over",
    }


def test_an_error_s_traceback_is_part_of_its_json() -> None:
    stream = io.StringIO()
    configure_logging("json", "INFO", stream)

    try:
        raise ValueError("no such mood")
    except ValueError:
        logging.getLogger("turnwise").exception("It failed")

    assert "ValueError: no such mood" in json.loads(stream.getvalue())["exception"]


def test_the_console_form_is_prose() -> None:
    stream = io.StringIO()
    configure_logging("console", "INFO", stream)

    logging.getLogger("turnwise").warning("The broker is away", extra={"action": "broker_away"})

    line = stream.getvalue()
    assert "The broker is away" in line
    assert "action=broker_away" in line


def test_whatever_a_line_holds_it_is_json_and_has_no_secret() -> None:
    stream = io.StringIO()
    configure_logging("json", "INFO", stream)
    log = logging.getLogger("turnwise")

    odd = {"api_key": "sk-abcdefgh1234", 1: [float("nan")]}
    log.info('he said "password=hunter2hunter2" twice', extra={"mood": odd})
    log.info("two\nlines", extra={"what": object(), "raw": b"\xff"})
    log.info("%d asks", "three")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("an old name", UserWarning, stacklevel=1)

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len(lines) == 4
    assert "hunter2" not in stream.getvalue() and "abcdefgh" not in stream.getvalue()
    assert lines[1]["event"] == "two\nlines"
    assert (lines[2]["action"], lines[3]["logger"]) == ("line_lost", "py.warnings")


def test_on_a_console_a_sentence_cannot_pretend_to_be_two() -> None:
    stream = io.StringIO()
    configure_logging("console", "INFO", stream)

    logging.getLogger("turnwise").info("refused: %s", "x\n2026-01-01 [info] all is well\x1b[31m")

    assert stream.getvalue().count("\n") == 1
    assert "\x1b[31m" not in stream.getvalue()


HOSTILE = "x \x1b]0;PWNED\x07\x1b[31mred \x9b31m\r\n2026-01-01T00:00:00Z [info] all is well \u202eback"


class Hostile:
    def __repr__(self) -> str:
        return HOSTILE


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _log_what_is_hostile(stream: io.StringIO, format: Literal["console", "json"]) -> str:
    configure_logging(format, "INFO", stream)
    extra = {"blank": HOSTILE, "word": "a\x9b31m\u202eb", "odd": Hostile(), "many": [HOSTILE], "stack": HOSTILE}
    try:
        raise RuntimeError(HOSTILE)
    except RuntimeError:
        logging.getLogger("turnwise").exception("It failed: %s", HOSTILE, extra=extra)
    return stream.getvalue()


def test_on_a_terminal_no_value_and_no_traceback_controls_it_or_looks_like_a_line() -> None:
    plain = _log_what_is_hostile(io.StringIO(), "console")
    coloured = _log_what_is_hostile(Terminal(), "console")

    assert visible(plain) == plain
    assert "RuntimeError: x \\x1b]0;PWNED" in plain
    assert "word=a\\x9b31m\\u202eb" in plain.replace("'", "")
    assert "\x1b[" in coloured
    assert not re.search("\x1b(?!\\[[0-9;]*m)|\x1b\\[31mred|[\x07\x9b\u202e\r]", coloured)
    for text in (plain, coloured):
        at_the_margin = {line for line in text.splitlines()[1:] if not line.startswith("    ")}
        assert at_the_margin <= {"", "=" * 79}  # between a stack and a traceback


def test_a_line_of_json_holds_what_cannot_be_seen_as_escapes() -> None:
    text = _log_what_is_hostile(io.StringIO(), "json")

    assert text == visible(text)
    assert "\\u009b31m" in text and "\\u202eback" in text
    assert json.loads(text)["blank"] == HOSTILE


def test_a_line_that_cannot_be_written_controls_no_terminal() -> None:
    stream = io.StringIO()
    configure_logging("console", "INFO", stream)

    logging.getLogger("turnwise").info("%d \x1b[31m\nred", "three")

    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()


def test_what_ends_a_process_or_a_thread_is_a_line() -> None:
    program = (
        "import threading\nfrom turnwise.observability.logs import *\nconfigure_logging('json')\ntell_uncaught()\n"
        "thread = threading.Thread(target=lambda: 1 / 0, name='odd')\nthread.start()\nthread.join()\n"
        "raise RuntimeError('api_key=abcdef123456')"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    of_thread, of_process = (json.loads(line) for line in done.stderr.splitlines())
    assert (of_thread["action"], of_thread["thread_name"]) == ("crashed", "odd")
    assert "ZeroDivisionError" in of_thread["exception"]
    assert of_process["exception"].endswith("RuntimeError: api_key=***")


@pytest.mark.parametrize(("format", "is_json"), [("json", True), ("auto", True), ("console", False), ("wrong", True)])
def test_a_fault_of_the_start_is_a_line_in_the_form_of_the_log(
    format: str, is_json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TURNWISE_LOG_FORMAT", format)
    begin_logging()

    tell_fault("no broker at redis://:secret-word@mq")

    told = capsys.readouterr().err
    said = json.loads(told)["event"] if is_json else told.removeprefix("turnwise: ").strip()
    assert said == "no broker at redis://:***@mq"


def test_a_fault_on_the_terminal_is_never_obeyed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TURNWISE_LOG_FORMAT", "console")
    begin_logging()

    tell_fault("refused: \x1b[2J\u202e")

    assert capsys.readouterr().err == "turnwise: refused: \\x1b[2J\\u202e\n"


def test_a_level_hides_what_is_below_it() -> None:
    stream = io.StringIO()
    configure_logging("json", "warning", stream)

    logging.getLogger("turnwise").info("Nothing of note")

    assert stream.getvalue() == ""


def test_libraries_do_not_tell_of_each_request() -> None:
    stream = io.StringIO()
    configure_logging("json", "INFO", stream)

    logging.getLogger("httpx2").info("HTTP Request: GET /")

    assert stream.getvalue() == ""


def test_an_unknown_level_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="expected DEBUG, INFO, WARNING or ERROR"):
        configure_logging("json", "LOUD")
