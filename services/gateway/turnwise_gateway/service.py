"""The gateway as a process of a distributed installation."""

from __future__ import annotations

import logging
from collections.abc import Callable

from turnwise.base.garbage import keep_memory_tidy
from turnwise.bus.base import Bus
from turnwise.bus.envelope import RunNotice
from turnwise.errors import BrokerUnavailableError
from turnwise.observability.telemetry.export import start_exporting
from turnwise.processes.bootstrap import open_parts
from turnwise.processes.settings import ServiceSettings
from turnwise_gateway.api import create_api
from turnwise_gateway.server import serve

logger = logging.getLogger(__name__)


def run(settings: ServiceSettings, on_ready: Callable[[str], None] | None = None) -> None:
    """Serve until told to stop; `on_ready` gets the base URL.

    Raises what is wrong before the port opens: what `open_parts` raises, and `AddressInUseError`. A broker that goes
    away later is no reason not to take runs.
    """
    telemetry = start_exporting("turnwise-gateway")
    parts = open_parts(settings)
    try:
        parts.store.call_after_commit(_teller(parts.bus))
        api = create_api(parts.store, parts.bus, parts.app, settings, parts.metrics)
        keep_memory_tidy()
        serve(api, *settings.bind_address, on_ready)
    finally:
        parts.close()
        telemetry.flush()


def _teller(bus: Bus) -> Callable[[str, int], None]:
    def tell(run_id: str, seq: int) -> None:
        try:
            bus.notify(RunNotice(run=run_id, seq=seq))
        except BrokerUnavailableError as error:
            logger.warning("Watchers of %s were not told: %s", run_id, error, extra={"action": "notify_failed"})

    return tell
