"""Logs of a process: the library writes with `logging`, and here everything is brought into one form.

A line is prose for people and `action=...` for machines (see `log_events`): coloured on a terminal, a JSON object per
line elsewhere. Where lines are JSON all of them are: warnings, uncaught errors and faults of the start included.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Literal, TextIO

from turnwise.base.imports import without
from turnwise.base.text import on_one_line, visible, visible_json
from turnwise.errors import ConfigurationError
from turnwise.observability.redaction import redact
from turnwise.observability.telemetry.context import current_ids

# For tracebacks that are drawn, and ours are not: with what it loads itself it is 5 MB of each process.
with without("rich"):
    import structlog
    from structlog.typing import EventDict, Processor

logger = logging.getLogger(__name__)

# What libraries say at INFO about each request, message or revision is of no use to an operator.
_CHATTY = ("alembic", "celery", "httpx", "httpx2", "httpcore", "openai", "kombu", "amqp", "uvicorn")
# Values of ours, which hold no secret.
_SAFE = frozenset(("action", "level", "logger", "timestamp", "trace_id", "span_id"))
_DEEPEST = 8
_MARGIN = "    "

# Fields of every line that is written while this is set; those of `structlog.contextvars` are for users, and cost more.
ABOUT: ContextVar[Mapping[str, object]] = ContextVar("turnwise_log_fields", default=MappingProxyType({}))


def _add_about(_logger: Any, _name: str, line: EventDict) -> EventDict:
    for name, value in ABOUT.get().items():
        line.setdefault(name, value)
    return line


def _add_trace(_logger: Any, _name: str, line: EventDict) -> EventDict:
    """The ids of the span that is current, by which a line is found from a trace."""
    ids = current_ids()
    if ids is not None:
        line.setdefault("trace_id", ids[0])
        line.setdefault("span_id", ids[1])
    return line


_SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    _add_about,
    _add_trace,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


class _Lines(logging.StreamHandler[TextIO]):
    """Writes lines; one that cannot be written is a line, too, and not a traceback among them."""

    def __init__(self, stream: TextIO, *, as_json: bool) -> None:
        super().__init__(stream)
        self.as_json = as_json
        self.setFormatter(_formatter(stream, as_json=as_json))

    def handleError(self, record: logging.LogRecord) -> None:
        """Write the template of the line, which has not met its arguments."""
        error = sys.exc_info()[1]
        if isinstance(error, OSError | ValueError) and self.stream.closed:
            return
        line = {
            "event": f"A line could not be written ({type(error).__name__}): {redact(str(record.msg))}",
            "action": "line_lost",
            "level": "error",
            "logger": record.name,
        }
        text = json.dumps(line) if self.as_json else f"{on_one_line(line['event'])} action=line_lost"
        # A full disk or a reader that is gone fails again; whoever logs must not pay for that.
        with suppress(OSError, ValueError):
            self.stream.write(text + self.terminator)
            self.flush()


def configure_logging(
    format: Literal["auto", "console", "json"] = "auto", level: str = "INFO", stream: TextIO | None = None
) -> None:
    """Send every log record of this process, and every warning, to `stream` (default: stderr); may be called again.

    Raises `ConfigurationError` for an unknown level.
    """
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ConfigurationError(f"TURNWISE_LOG_LEVEL is {level!r}; expected DEBUG, INFO, WARNING or ERROR")
    target = stream or sys.stderr
    root = logging.getLogger()
    root.handlers[:] = [_Lines(target, as_json=format == "json" or (format == "auto" and not target.isatty()))]
    root.setLevel(number)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(number, logging.WARNING) if number > logging.DEBUG else number)
    logging.captureWarnings(True)


def begin_logging() -> None:
    """Write lines in the right form before the settings are known: the form is what the environment alone says."""
    given = os.environ.get("TURNWISE_LOG_FORMAT", "auto")
    configure_logging("json" if given == "json" else "console" if given == "console" else "auto")


def tell_fault(message: str) -> None:
    """Say why a command cannot do its work: a line of the log where that is JSON, else a sentence on stderr."""
    if any(isinstance(handler, _Lines) and handler.as_json for handler in logging.getLogger().handlers):
        logger.critical("%s", message, extra={"action": "start_failed"})
    else:
        sys.stderr.write(f"turnwise: {visible(redact(message))}\n")


def tell_uncaught() -> None:
    """Log the errors that end the process or one of its threads, in place of Python's own traceback."""

    def of_process(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        logger.critical("An error ended this process", extra={"action": "crashed"}, exc_info=(kind, error, trace))

    def of_thread(found: threading.ExceptHookArgs) -> None:
        if found.exc_value is None or issubclass(found.exc_type, SystemExit):
            return
        name = found.thread.name if found.thread is not None else None
        extra = {"action": "crashed", "thread_name": name}
        told = (found.exc_type, found.exc_value, found.exc_traceback)
        logger.critical("An error ended a thread of this process", extra=extra, exc_info=told)

    sys.excepthook, threading.excepthook = of_process, of_thread


def _plain(_logger: Any, _name: str, line: EventDict) -> EventDict:
    """The line as JSON can have it, without secrets; before it is text, or the text could no longer be parsed."""
    return {name: value if name in _SAFE else _as_json(value) for name, value in line.items()}


def _as_json(value: Any, depth: int = 0) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict) and depth < _DEEPEST:
        return {str(name): _as_json(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        return [_as_json(item, depth + 1) for item in value]
    return redact(value if isinstance(value, str) else str(value))


class _Shown:
    """A value of which the text is ready; the renderer asks for its `repr`."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _visible(_logger: Any, _name: str, line: EventDict) -> EventDict:
    """Make what a line quotes safe to look at: it cannot pretend to be several lines, or control the terminal.

    Secrets are cut out before it is put together: their search must not take one value for a part of another.
    """
    return {name: value if name in _SAFE else _shown(name, value) for name, value in line.items()}


def _shown(name: str, value: Any) -> Any:
    if name == "event":
        return on_one_line(redact(str(value)))
    if name in ("exception", "stack"):
        # At the margin only lines of the log begin.
        return _MARGIN + visible(redact(str(value))).replace("\n", "\n" + _MARGIN)
    if value is None or isinstance(value, bool | int | float):
        return value
    if not isinstance(value, str):
        return _Shown(on_one_line(redact(repr(value))))
    text = redact(value)
    return text if on_one_line(text) == text else _Shown(repr(text))


def _redacted(_logger: Any, _name: str, line: Any) -> Any:
    """The last step: whatever a line is made of, no secret leaves in it."""
    return redact(line)


def _formatter(stream: TextIO, *, as_json: bool) -> structlog.stdlib.ProcessorFormatter:
    last: list[Processor]
    if as_json:
        ascii_only = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
        renderer = structlog.processors.JSONRenderer(json.dumps if ascii_only else visible_json)
        last = [structlog.processors.format_exc_info, _plain, renderer]
    else:
        console = structlog.dev.ConsoleRenderer(
            colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
        last = [structlog.processors.format_exc_info, _visible, console, _redacted]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )
