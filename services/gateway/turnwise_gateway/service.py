"""The gateway as a process of a distributed installation."""

from __future__ import annotations

from collections.abc import Callable

from turnwise.base.garbage import keep_memory_tidy
from turnwise.observability.telemetry.export import start_exporting
from turnwise.processes.bootstrap import open_parts
from turnwise.processes.settings import ServiceSettings
from turnwise.serving.watches import hear_watches
from turnwise_gateway.api import create_api
from turnwise_gateway.server import serve


def run(settings: ServiceSettings, on_ready: Callable[[str], None] | None = None) -> None:
    """Serve until told to stop; `on_ready` gets the base URL.

    Raises what is wrong before the port opens: what `open_parts` and `create_api` raise, and `AddressInUseError`. A
    broker that goes away later is no reason not to take runs.
    """
    telemetry = start_exporting("turnwise-gateway")
    parts = open_parts(settings)
    try:
        hear_watches(parts.bus, parts.observers)
        api = create_api(parts.store, parts.bus, parts.app, settings, parts.metrics, parts.observers)
        keep_memory_tidy()
        serve(api, *settings.bind_address, on_ready)
    finally:
        parts.close()
        telemetry.flush()
