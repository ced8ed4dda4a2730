"""What every route of one API has at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from prometheus_client import CollectorRegistry

from turnwise.app import App
from turnwise.bus.base import Bus
from turnwise.runs.store import Store
from turnwise.service_settings import ServiceSettings
from turnwise_gateway.watch import Watch


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """The parts that a gateway works with, chosen by whoever starts the process."""

    store: Store
    bus: Bus
    app: App
    settings: ServiceSettings
    registry: CollectorRegistry
    watch: Watch


def _of_request(request: Request) -> Gateway:
    found = request.app.state.gateway
    assert isinstance(found, Gateway)
    return found


Here = Annotated[Gateway, Depends(_of_request)]
