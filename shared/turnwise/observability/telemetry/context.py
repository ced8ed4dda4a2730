"""Trace contexts as text (W3C `traceparent`), which is how they lie in the record and travel."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from turnwise.observability.telemetry.providers import tracer_provider

if TYPE_CHECKING:
    from opentelemetry.trace import Span, SpanContext

# https://www.w3.org/TR/trace-context/#traceparent-header-field-values; ids of zeros stand for none.
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def current_traceparent() -> str | None:
    """The context of the span that is current here; None if there is none, or no one takes spans."""
    if tracer_provider() is None:
        return None
    from opentelemetry import trace

    return traceparent_of(trace.get_current_span())


def traceparent_of(span: Span | None) -> str | None:
    """The context of a span; None for one that stands for none."""
    context = span.get_span_context() if span is not None else None
    if context is None or not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


def span_context(traceparent: str | None) -> SpanContext | None:
    """The context that the text stands for; None for none, or for text that is no context."""
    if traceparent is None or not _TRACEPARENT.fullmatch(traceparent):
        return None
    from opentelemetry.trace import SpanContext, TraceFlags

    _, trace_id, span_id, flags = traceparent.split("-")
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=TraceFlags(int(flags, 16)))


def trace_id(traceparent: str | None) -> str | None:
    """The id of the trace that a context belongs to."""
    return traceparent.split("-")[1] if traceparent is not None and _TRACEPARENT.fullmatch(traceparent) else None


def current_ids() -> tuple[str, str] | None:
    """The ids of trace and span that are current here, in hex; None if there is no span.

    Looks only where OpenTelemetry is in use already.
    """
    api: Any = sys.modules.get("opentelemetry.trace")
    find = getattr(api, "get_current_span", None)
    context = find().get_span_context() if find is not None else None
    if context is None or not context.is_valid:
        return None
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def link_current_to(*traceparents: str | None) -> None:
    """Link the span that is current here to what it continues with, days later perhaps."""
    if tracer_provider() is None:
        return
    from opentelemetry import trace

    span = trace.get_current_span()
    for traceparent in traceparents:
        context = span_context(traceparent)
        if context is not None and context.span_id != span.get_span_context().span_id:
            span.add_link(context)
