"""Logs of a process: the library writes with `logging`, and here everything is brought into one form.

A line is prose for people and `action=...` for machines: coloured on a terminal, a JSON object per line elsewhere.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor

from turnwise.errors import ConfigurationError
from turnwise.redaction import redact
from turnwise.telemetry.context import current_ids

# What libraries say at INFO about each request or revision is of no use to an operator.
_CHATTY = ("alembic", "httpx", "httpx2", "httpcore", "openai", "kombu", "amqp", "uvicorn")


def _add_trace(_logger: Any, _name: str, line: EventDict) -> EventDict:
    """The ids of the span that is current, by which a line is found from a trace."""
    ids = current_ids()
    if ids is not None:
        line.setdefault("trace_id", ids[0])
        line.setdefault("span_id", ids[1])
    return line


_SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    _add_trace,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


def configure_logging(
    format: Literal["auto", "console", "json"] = "auto", level: str = "INFO", stream: TextIO | None = None
) -> None:
    """Send every log record of this process to `stream` (default: stderr); may be called again.

    Raises `ConfigurationError` for an unknown level.
    """
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ConfigurationError(f"TURNWISE_LOG_LEVEL is {level!r}; expected DEBUG, INFO, WARNING or ERROR")
    target = stream or sys.stderr
    terminal = target.isatty()
    as_json = format == "json" or (format == "auto" and not terminal)
    handler = logging.StreamHandler(target)
    handler.setFormatter(_formatter(as_json=as_json, colors=terminal))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(number, logging.WARNING) if number > logging.DEBUG else number)


def _redacted(_logger: Any, _name: str, line: Any) -> Any:
    """The last step: whatever a line is made of, no secret leaves in it."""
    return redact(line)


def _formatter(*, as_json: bool, colors: bool) -> structlog.stdlib.ProcessorFormatter:
    last: list[Processor]
    if as_json:
        last = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
    else:
        last = [structlog.dev.ConsoleRenderer(colors=colors)]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last, _redacted],
    )
