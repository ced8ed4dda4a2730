"""Sends the spans and measurements of a service to where the environment says, with OpenTelemetry's own SDK.

The variables are OpenTelemetry's, read by its SDK: https://opentelemetry.io/docs/specs/otel/configuration/. Unlike it,
nothing is sent, and nothing of it imported, before an endpoint or an exporter is named.
"""

from __future__ import annotations

import logging
import os
import threading
from importlib.metadata import entry_points
from typing import Any, Literal, TypeAlias

from turnwise.errors import ConfigurationError
from turnwise.observability.telemetry.providers import meter_provider, tracer_provider, use

logger = logging.getLogger(__name__)

Signal: TypeAlias = Literal["TRACES", "METRICS"]

# Seconds that the end of a process waits for a collector to take the last spans.
_LAST_WORD = 5.0
_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


class Exporting:
    """The telemetry that a process sends; with no providers, nothing."""

    def __init__(self, *providers: Any) -> None:
        self._providers = providers

    def flush(self) -> None:
        """Send what is left, unless that takes long: what a collector that is away has not taken is lost."""
        if not self._providers:
            return
        thread = threading.Thread(target=self._flush, name="turnwise-last-spans", daemon=True)
        thread.start()
        thread.join(_LAST_WORD)

    def _flush(self) -> None:
        for provider in self._providers:
            provider.force_flush(int(_LAST_WORD * 1_000))


_process: dict[int, Exporting] = {}
_starting = threading.Lock()


def start_exporting(service: str) -> Exporting:
    """Begin to send, once in each process and after its fork; `service` is its name unless OTEL_SERVICE_NAME is set.

    A program that has set up providers of its own keeps them. Raises `ConfigurationError` for an exporter that is not
    installed; where all of OpenTelemetry is missing, a warning says so.
    """
    with _starting:
        known = _process.get(os.getpid())
        if known is None:
            known = _process[os.getpid()] = _started(service)
        return known


def _started(service: str) -> Exporting:
    traces, metrics = exporters("TRACES"), exporters("METRICS")
    if not traces and not metrics:
        return Exporting()
    try:
        import opentelemetry.metrics
        import opentelemetry.sdk.metrics
        import opentelemetry.sdk.trace
        import opentelemetry.trace
    except ImportError as error:
        logger.warning(
            "OpenTelemetry is configured (OTEL_*), but %s is not installed, so nothing is sent; install it with: "
            "pip install 'turnwise[otel]'",
            error.name,
            extra={"action": "telemetry_missing"},
        )
        return Exporting()
    tracers = _tracers(service, traces) if traces and tracer_provider() is None else None
    meters = _meters(service, metrics) if metrics and meter_provider() is None else None
    if tracers is not None:  # also for what the application's own code, and libraries in it, have to tell
        opentelemetry.trace.set_tracer_provider(tracers)
    if meters is not None:
        opentelemetry.metrics.set_meter_provider(meters)
    use(tracers, meters)
    return Exporting(*(provider for provider in (tracers, meters) if provider is not None))


def exporters(signal: Signal) -> list[str]:
    """The names of the exporters that the environment asks for, as packages announce them."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return []
    endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    default = "otlp" if any(os.environ.get(name) for name in endpoints) else "none"
    named = os.environ.get(f"OTEL_{signal}_EXPORTER") or default
    names = [name.strip().lower() for name in named.split(",")]
    return [_otlp(signal) if name == "otlp" else name for name in names if name and name != "none"]


def _otlp(signal: Signal) -> str:
    name = f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL"
    found = os.environ.get(name) or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    if found not in _PROTOCOLS:
        raise ConfigurationError(f"{name} is {found!r}; expected {' or '.join(_PROTOCOLS)}")
    return _PROTOCOLS[found]


def _exporter(signal: Signal, name: str) -> Any:
    group = f"opentelemetry_{signal.lower()}_exporter"
    for found in entry_points(group=group, name=name):
        return found.load()()
    known = ", ".join(sorted({point.name for point in entry_points(group=group)})) or "none"
    raise ConfigurationError(
        f"OpenTelemetry has no exporter {name!r} of {signal.lower()} here; installed are: {known}. "
        f"See OTEL_{signal}_EXPORTER and OTEL_EXPORTER_OTLP_PROTOCOL"
    )


def _tracers(service: str, names: list[str]) -> Any:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=_resource(service), shutdown_on_exit=False)
    for name in names:
        provider.add_span_processor(BatchSpanProcessor(_exporter("TRACES", name)))
    return provider


def _meters(service: str, names: list[str]) -> Any:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    readers = [PeriodicExportingMetricReader(_exporter("METRICS", name)) for name in names]
    return MeterProvider(metric_readers=readers, resource=_resource(service), shutdown_on_exit=False)


def _resource(service: str) -> Any:
    from opentelemetry.sdk.resources import Resource

    from turnwise.base.ids import new_id
    from turnwise.base.version import VERSION

    found = Resource.create()
    ours = {"service.namespace": "turnwise", "service.version": VERSION, "service.instance.id": new_id("otel")}
    if str(found.attributes.get("service.name", "")).startswith("unknown_service"):
        ours["service.name"] = service
    return Resource(ours | {key: value for key, value in found.attributes.items() if key not in ours})
