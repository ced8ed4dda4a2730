"""Spans of what happens in one process, with the measurements that belong to them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from weakref import WeakKeyDictionary

from turnwise.observability.telemetry import names
from turnwise.observability.telemetry.context import span_context, traceparent_of
from turnwise.observability.telemetry.providers import may_be_provided, meter, meter_provider, tracer, tracer_provider

if TYPE_CHECKING:
    from opentelemetry.trace import Span


_instruments: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
_making = threading.Lock()


def takes() -> bool:
    """Return whether measurements are exported."""
    return meter() is not None


def record(metric: tuple[str, str, str, tuple[float, ...]], value: float, attributes: Mapping[str, Any]) -> None:
    """Add a value to a histogram, where anyone takes it."""
    makes = meter()
    if makes is None:
        return
    name, unit, description, boundaries = metric
    with _making:
        made = _instruments.setdefault(makes, {})
        if name not in made:
            made[name] = makes.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=boundaries)
    made[name].record(value, dict(attributes))


Attributes: TypeAlias = Mapping[str, Any]
Kind: TypeAlias = Literal["INTERNAL", "CLIENT", "PRODUCER"]
Metric: TypeAlias = tuple[str, str, str, tuple[float, ...]]


class Spot:
    """A span that is under way; with `span` None, no one takes it, and only its duration may be measured."""

    def __init__(self, span: Span | None = None) -> None:
        self.span = span
        self.measured: dict[str, Any] = {}

    @property
    def traceparent(self) -> str | None:
        """The span's context."""
        return traceparent_of(self.span)

    def set(self, attributes: Attributes) -> None:
        """Add attributes; those that are None are left out."""
        if self.span is not None:
            self.span.set_attributes({name: value for name, value in attributes.items() if value is not None})

    def failed(self, kind: str, told: str | None = None) -> None:
        """Say that it ended with an error of that kind. `told` may hold content, so it is for who asks for that."""
        self.measured[names.ERROR] = kind
        if self.span is not None:
            from opentelemetry.trace import Status, StatusCode

            self.span.set_attribute(names.ERROR, kind)
            self.span.set_status(Status(StatusCode.ERROR, told))


NO_SPAN: AbstractContextManager[None] = nullcontext()


def listened(metric: Metric | None = None) -> bool:
    """Return whether spans, or measurements of that kind, are exported."""
    if not may_be_provided():
        return False
    return tracer_provider() is not None or (metric is not None and meter_provider() is not None)


@contextmanager
def span(
    name: str,
    attributes: Attributes,
    *,
    kind: Kind = "INTERNAL",
    metric: Metric | None = None,
    measured: tuple[str, ...] = (),
    parent: str | None = None,
    links: Mapping[str, str | None] | None = None,
    root: bool = False,
) -> Iterator[Spot]:
    """A span around the block; an exception is told of by its kind, and raised.

    It is within the span that is current here, or within `parent`; with `root` it begins a trace. `links` says what it
    continues with, by what it is for this one. `metric` gets the block's duration, with the attributes named by
    `measured`.
    """
    spot = begun(name, attributes, kind=kind, parent=parent, links=links, root=root)
    started = time.perf_counter()
    try:
        with current(spot):
            yield spot
    except BaseException as error:
        spot.failed(error_type(error))
        raise
    finally:
        if metric is not None:
            told = {key: attributes[key] for key in measured if attributes.get(key) is not None}
            record(metric, time.perf_counter() - started, told | spot.measured)
        if spot.span is not None:
            spot.span.end()


def begins_at() -> int | None:
    """Now, in ns since the epoch, as the `start_time` of a span that may follow; None where no one takes spans.

    What is told to tracers is measured by the real clock also where another one decides.
    """
    return time.time_ns() if listened() else None


def begun(
    name: str,
    attributes: Attributes,
    *,
    kind: Kind = "INTERNAL",
    parent: str | None = None,
    links: Mapping[str, str | None] | None = None,
    root: bool = False,
    start_time: int | None = None,
) -> Spot:
    """A span that the caller ends; `start_time` in ns since the epoch. See `span`."""
    begins = tracer()
    if begins is None:
        return Spot()
    from opentelemetry import context, trace

    within = span_context(parent)
    where = None
    if within is not None:
        where = trace.set_span_in_context(trace.NonRecordingSpan(within), context.Context())
    elif root:
        where = context.Context()
    linked = [
        trace.Link(found, {names.LINK: what}) for what, to in (links or {}).items() if (found := span_context(to))
    ]
    return Spot(
        begins.start_span(
            name,
            context=where,
            kind=trace.SpanKind[kind],
            attributes={key: value for key, value in attributes.items() if value is not None},
            links=linked,
            start_time=start_time,
        )
    )


def current(spot: Spot) -> AbstractContextManager[Any]:
    """Let the span be the current one in the block."""
    if spot.span is None:
        return NO_SPAN
    from opentelemetry import trace

    return trace.use_span(spot.span, end_on_exit=False, record_exception=False, set_status_on_exception=False)


def error_type(error: BaseException) -> str:
    """The kind of an exception, as the conventions want it: with its module, unless it is Python's own."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
