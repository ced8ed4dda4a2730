"""The HTTP API, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Security
from fastapi.security import HTTPBearer
from prometheus_client import CollectorRegistry

from turnwise import __version__
from turnwise.app import App
from turnwise.bus.base import Bus
from turnwise.metrics import Metrics, RecordCollector
from turnwise.runs.store import Store
from turnwise.service_settings import ServiceSettings
from turnwise_gateway import answers, events, fleet, health, runs, sessions
from turnwise_gateway.auth import BearerAuth
from turnwise_gateway.body_limit import BodyLimit
from turnwise_gateway.gateway import Gateway
from turnwise_gateway.problem import Problem, handle_problems, problems
from turnwise_gateway.watch import Watch


def create_api(store: Store, bus: Bus, app: App, settings: ServiceSettings, metrics: Metrics | None = None) -> FastAPI:
    """The API over a store, a bus and an application.

    `metrics` are those of the process where it does other work too; its registry gets the record's gauges.
    """
    registry = (metrics or Metrics(CollectorRegistry())).registry
    registry.register(RecordCollector(store))
    gateway = Gateway(store=store, bus=bus, app=app, settings=settings, registry=registry, watch=Watch(bus))

    @asynccontextmanager
    async def lifespan(_api: FastAPI) -> AsyncIterator[None]:
        gateway.watch.open()
        try:
            yield
        finally:
            await gateway.watch.close()

    api = FastAPI(title="Turnwise", version=__version__, lifespan=lifespan, redoc_url=None, description=_DESCRIPTION)
    api.state.gateway = gateway
    handle_problems(api)
    _add_middleware(api, settings)
    # The middleware does the guarding; this tells /docs of it.
    guarded = settings.auth == "token"
    guard = [Security(HTTPBearer(auto_error=False))] if guarded else []
    for part in (runs, events, answers, sessions, fleet):
        api.include_router(part.router, dependencies=guard, responses=problems(401) if guarded else None)
    api.include_router(health.router)
    _describe_problems(api)
    return api


_DESCRIPTION = "Durable conversations between LLM agents, tools and humans. Every error is an RFC 9457 problem."


def _add_middleware(api: FastAPI, settings: ServiceSettings) -> None:
    # The one added last is asked first.
    api.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes)
    if settings.auth == "token" and settings.auth_token is not None:
        api.add_middleware(BearerAuth, token=settings.auth_token.get_secret_value())


def _describe_problems(api: FastAPI) -> None:
    """Put the schema of a problem into the API's description, which the routes' `responses` point at."""
    describe = api.openapi

    def with_problems() -> dict[str, Any]:
        document = describe()
        schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.update(schema.pop("$defs", {}))
        schemas["Problem"] = schema
        # FastAPI's own form of a validation error, which this API never sends.
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        for operation in (one for path in document["paths"].values() for one in path.values()):
            if "application/json" in operation["responses"].get("422", {}).get("content", {}):
                del operation["responses"]["422"]
        return document

    api.openapi = with_problems  # type: ignore[method-assign]  # the documented way to change it
