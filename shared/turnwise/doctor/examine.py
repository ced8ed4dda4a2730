"""All checks, in the order in which one needs what the other has found."""

from __future__ import annotations

from collections.abc import Iterator

from turnwise.app import App
from turnwise.doctor import application, broker, database, fleet, models, upkeep
from turnwise.doctor.finding import Finding, fault, note, ok
from turnwise.errors import ApplicationError, ConfigurationError, EnvironmentFault
from turnwise.runs.store import Store
from turnwise.service_settings import ServiceSettings, load_settings


def examine(**overrides: str | None) -> Iterator[Finding]:
    """What is found, as it is found; `overrides` are settings that win over the environment.

    Nothing is changed but for a permit in each queue of the broker, which does no harm. No model is called.
    """
    try:
        settings = load_settings(**overrides)
    except ConfigurationError as error:
        yield fault("settings", str(error), "correct the settings; until then nothing else can be looked at")
        return
    yield ok("settings", "all settings can be read")
    app: App | None = None
    try:
        app = application.load(settings)
        yield application.loaded(app)
    except ApplicationError as error:
        yield fault("application", str(error), "correct TURNWISE_APP, or what the module needs")
    yield from _of_record(settings, app)
    if app is not None:
        yield from models.check(app, settings)
    yield from upkeep.check_metrics()


def _of_record(settings: ServiceSettings, app: App | None) -> Iterator[Finding]:
    """The database, and what only it knows."""
    with database.opened(settings) as (store, findings):
        yield from findings
        yield from _guarded("broker", broker.check(settings, app, store))
        if store is None:
            yield note("fleet", "not looked at: the database can not be used")
            return
        yield from _guarded("fleet", _of_store(store, settings, app))


def _of_store(store: Store, settings: ServiceSettings, app: App | None) -> Iterator[Finding]:
    yield from fleet.check(store, settings)
    if app is not None:
        yield from application.check_versions(app, store, settings)
    yield from upkeep.check_retention(store, settings)


def _guarded(check: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """What goes away in the middle of a look is a finding as well."""
    try:
        yield from findings
    except (EnvironmentFault, ConfigurationError) as error:
        yield fault(check, str(error))
