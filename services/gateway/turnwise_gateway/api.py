"""The HTTP API, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from prometheus_client import CollectorRegistry

from turnwise import __version__
from turnwise.app import App
from turnwise.bus.base import Bus
from turnwise.bus.routing import all_queues
from turnwise.observability.telemetry.providers import meter_provider, tracer_provider
from turnwise.processes.metrics import Metrics, watch_record
from turnwise.processes.moves import mover_of
from turnwise.processes.settings import ServiceSettings
from turnwise.record.roles.authentication import AuthenticationRole
from turnwise.record.store import Store
from turnwise.serving.moves.first_moves import FirstMoves
from turnwise.serving.observer import NO_OBSERVERS, Observers
from turnwise.serving.webhooks.addresses import AddressRules
from turnwise_gateway.access import audit
from turnwise_gateway.access.authentication import Authentication
from turnwise_gateway.access.identity import AnyOf, Identity, Keys, SharedToken
from turnwise_gateway.access.open_requests import Admission
from turnwise_gateway.access.rates import Rates
from turnwise_gateway.access.refusals import RefusedChanges
from turnwise_gateway.access.scopes import check_declared
from turnwise_gateway.console import console, docs_page
from turnwise_gateway.gateway import WholeGateway, check_keys_taken
from turnwise_gateway.host_look_ups import HostLookUps
from turnwise_gateway.http.access_log import AccessLog
from turnwise_gateway.http.body_limit import BodyLimit
from turnwise_gateway.http.description import describe
from turnwise_gateway.http.path_check import PathCheck
from turnwise_gateway.http.problem import handle_problems
from turnwise_gateway.http.request_id import RequestId
from turnwise_gateway.http.request_metrics import Measured
from turnwise_gateway.http.root_path import RootPath, check_root, without_root
from turnwise_gateway.openai_door.errors import DoorErrors
from turnwise_gateway.routes import (
    answers,
    batch_ends,
    batches,
    bulk,
    events,
    fleet,
    forks_and_retries,
    health,
    inbox,
    keys,
    log_page,
    openai,
    pauses,
    runs,
    schedules,
    series,
    sessions,
    sign_in,
    tenants,
    timeline,
    usage,
    webhooks,
)
from turnwise_gateway.watching.watch import Watch

# In this order a path is looked up.
_ROUTERS = [
    part.router
    for part in (
        console,  # first, as a page asks for many files
        bulk,
        batches,
        batch_ends,
        runs,
        events,
        timeline,
        log_page,
        answers,
        inbox,
        forks_and_retries,
        sessions,
        fleet,
        series,
        pauses,
        schedules,
        openai,
        sign_in,
        keys,
        webhooks,
        tenants,
        usage,
        audit,
        health,
        docs_page,
    )
]
_ROUTES = [route for router in _ROUTERS for route in router.routes]


def create_api(
    store: Store,
    bus: Bus,
    app: App,
    settings: ServiceSettings,
    metrics: Metrics | None = None,
    observers: Observers = NO_OBSERVERS,
) -> FastAPI:
    """The API over a store, a bus and an application.

    `metrics` are those of the process where it does other work too; its registry gets the record's gauges.
    """
    metrics = metrics or Metrics(CollectorRegistry())
    watch_record(metrics.registry, store.monitor, all_queues(settings.llm_queues, settings.agent_queues))
    known_by = identity(store.authentication, settings)
    gateway = WholeGateway(
        records=store,
        bus=bus,
        app=app,
        settings=settings,
        metrics=metrics,
        observers=observers,
        first_moves=FirstMoves(mover_of(settings, app), allowed=settings.moves == "worker"),
        watch=Watch(bus),
        admission=Admission(known_by),
        webhook_rules=AddressRules(tuple(settings.webhook_allowed_networks), settings.webhook_allow_http),
        host_look_ups=HostLookUps(),
    )

    api = FastAPI(
        title="Turnwise",
        version=__version__,
        lifespan=partial(_open, gateway),
        docs_url=None,
        redoc_url=None,
        # A redirect would lead to whatever host the request names.
        redirect_slashes=False,
        description=_DESCRIPTION,
        telemetry=_telemetry(settings.root_path),
    )
    api.state.gateway = gateway
    handle_problems(api)
    _add_middleware(api, store.authentication, settings, known_by)
    # Around all others, which may refuse a request before it gets to a route.
    api.add_middleware(Measured, routes=_ROUTES, metrics=metrics)
    if settings.root_path:  # around even that: whatever looks at a path finds it as the routes have it
        api.add_middleware(RootPath, root=settings.root_path)
    api.router.routes.extend(_ROUTES)
    check_declared(_ROUTES)
    check_root(api.routes, settings.root_path)
    check_keys_taken(_ROUTES)
    describe(api, guarded=settings.auth != "none")
    return api


@asynccontextmanager
async def _open(gateway: WholeGateway, _api: FastAPI) -> AsyncIterator[None]:
    gateway.watch.open()
    try:
        yield
    finally:
        await gateway.watch.close()
        await gateway.admission.close()


_DESCRIPTION = "Durable conversations between LLM agents, tools and humans. Every error is an RFC 9457 problem."


def _telemetry(root: str) -> TelemetryConfig:
    """FastAPI traces requests, where someone takes that; the probes and scrapes of a cluster are no one's business."""
    return {
        "tracer_provider": tracer_provider(),
        "meter_provider": meter_provider(),
        "operation_spans": False,
        "logs": False,
        "auto_configure": False,
        "exclude": lambda scope: without_root(str(scope.get("path", "")), root).startswith(("/health/", "/metrics")),
    }


def _add_middleware(
    api: FastAPI, record: AuthenticationRole, settings: ServiceSettings, known_by: Identity | None
) -> None:
    # The one added last is asked first.
    api.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes)
    if settings.auth != "none":
        api.add_middleware(RefusedChanges, record=record)
    api.add_middleware(Rates, settings=settings)
    api.add_middleware(Authentication, record=record, identity=known_by)
    api.add_middleware(PathCheck)
    api.add_middleware(DoorErrors)
    api.add_middleware(AccessLog)
    api.add_middleware(RequestId)


def identity(record: AuthenticationRole, settings: ServiceSettings) -> Identity | None:
    """Return how callers are known; None: not at all. Raises `ConfigurationError` for an issuer that cannot be used."""
    settings.check_issuer()
    if settings.auth == "token":
        assert settings.auth_token is not None, "the settings have checked it"
        return SharedToken(record, settings.auth_token.get_secret_value())
    if settings.auth == "none":
        return None
    if settings.oidc_issuer is None:
        return AnyOf([Keys(record)])
    # Its libraries are loaded where an issuer is set.
    from turnwise_gateway.access.oidc import Oidc

    return AnyOf([Keys(record), Oidc(record, settings)])
