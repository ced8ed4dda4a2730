"""Logs: one form for everything, prose for people and fields for machines."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from turnwise.errors import ConfigurationError
from turnwise.logs import configure_logging


@pytest.fixture(autouse=True)
def _the_process_keeps_its_logs() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level


def test_off_a_terminal_a_record_is_a_json_object_with_its_fields() -> None:
    stream = io.StringIO()
    configure_logging("auto", "INFO", stream)

    logging.getLogger("turnwise.runs").info("Took over %d asks", 3, extra={"action": "taken_over"})

    told = json.loads(stream.getvalue())
    assert told.pop("timestamp").endswith("Z")
    assert told == {
        "event": "Took over 3 asks",
        "level": "info",
        "logger": "turnwise.runs",
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
