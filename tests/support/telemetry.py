"""Spans and measurements as a test sees them: in memory, or received over HTTP as a collector would."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from turnwise.observability.telemetry.providers import use


@dataclass(frozen=True, kw_only=True)
class SeenSpan:
    """A span that was exported, whoever exported it; ids in hex, `parent` is "" for the first of a trace."""

    trace: str
    id: str
    parent: str
    name: str
    kind: str
    service: str
    process: str
    attributes: dict[str, Any] = field(hash=False)
    links: tuple[tuple[str, str, str], ...]  # trace, span, what it is
    failed: bool
    started: int
    ended: int


class Memory:
    """Takes spans and measurements of this process."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        self.meters = MeterProvider(metric_readers=[self._reader], shutdown_on_exit=False)

    def spans(self) -> list[SeenSpan]:
        """What has ended, in that order."""
        return [
            SeenSpan(
                trace=f"{span.context.trace_id:032x}",
                id=f"{span.context.span_id:016x}",
                parent=f"{span.parent.span_id:016x}" if span.parent is not None else "",
                name=span.name,
                kind=span.kind.name,
                service="",
                process="",
                attributes=dict(span.attributes or {}),
                links=tuple(
                    (f"{link.context.trace_id:032x}", f"{link.context.span_id:016x}", str(link.attributes or {}))
                    for link in span.links
                ),
                failed=not span.status.is_ok,
                started=span.start_time or 0,
                ended=span.end_time or 0,
            )
            for span in self._exporter.get_finished_spans()
            if span.context is not None
        ]

    def histograms(self) -> dict[str, list[dict[str, Any]]]:
        """The attributes of each histogram's points, by its name."""
        data = self._reader.get_metrics_data()
        found: dict[str, list[dict[str, Any]]] = {}
        for resource in data.resource_metrics if data is not None else []:
            for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                found[metric.name] = [dict(point.attributes or {}) for point in metric.data.data_points]
        return found


@contextmanager
def in_memory() -> Iterator[Memory]:
    """Take what this process tells in the block."""
    memory = Memory()
    use(memory.tracers, memory.meters)
    try:
        yield memory
    finally:
        use(None, None)


class Collector:
    """An OTLP receiver over HTTP; a context manager."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: list[SeenSpan] = []
        self._metrics: set[str] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables that have a process send here, and soon."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
            "OTEL_METRIC_EXPORT_INTERVAL": "500",
        }

    def spans(self) -> list[SeenSpan]:
        """What has come so far."""
        with self._lock:
            return list(self._spans)

    def metrics(self) -> set[str]:
        """The names of the metrics that have come so far."""
        with self._lock:
            return set(self._metrics)

    def take(self, path: str, body: bytes) -> None:
        """Keep what was posted."""
        with self._lock:
            if path == "/v1/traces":
                self._spans += _spans(ExportTraceServiceRequest.FromString(body))
            elif path == "/v1/metrics":
                sent = ExportMetricsServiceRequest.FromString(body)
                scopes = [scope for resource in sent.resource_metrics for scope in resource.scope_metrics]
                self._metrics |= {metric.name for scope in scopes for metric in scope.metrics}

    def __enter__(self) -> Collector:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            collector.take(self.path, body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    return Handler


def _spans(sent: ExportTraceServiceRequest) -> list[SeenSpan]:
    return [
        SeenSpan(
            trace=span.trace_id.hex(),
            id=span.span_id.hex(),
            parent=span.parent_span_id.hex(),
            name=span.name,
            kind=span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
            service=str(_attributes(resource.resource.attributes).get("service.name")),
            process=str(_attributes(resource.resource.attributes).get("service.instance.id")),
            attributes=_attributes(span.attributes),
            links=tuple(
                (link.trace_id.hex(), link.span_id.hex(), str(_attributes(link.attributes))) for link in span.links
            ),
            failed=span.status.code == span.status.STATUS_CODE_ERROR,
            started=span.start_time_unix_nano,
            ended=span.end_time_unix_nano,
        )
        for resource in sent.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def connected(spans: Sequence[SeenSpan]) -> bool:
    """Return whether every span is reached from any other, over parents and links."""
    near: dict[str, set[str]] = {span.id: set() for span in spans}
    for span in spans:
        for other in [span.parent, *(link[1] for link in span.links)]:
            if other in near:
                near[span.id].add(other)
                near[other].add(span.id)
    reached: set[str] = set()
    todo = [spans[0].id]
    while todo:
        one = todo.pop()
        if one not in reached:
            reached.add(one)
            todo += near[one]
    return len(reached) == len(near)


def tree(spans: Sequence[SeenSpan], parent: str = "") -> list[Any]:
    """The names of a trace's spans, each with those within it, in the order in which they began."""
    known = {span.id for span in spans}
    mine = [s for s in spans if s.parent == parent or (not parent and s.parent not in known)]
    return [(span.name, tree(spans, span.id)) for span in sorted(mine, key=lambda span: span.started)]
