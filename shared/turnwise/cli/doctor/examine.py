"""All checks, in the order of their dependencies."""

from __future__ import annotations

from collections.abc import Iterator

from turnwise.app import App
from turnwise.cli.doctor import access, addresses, application, batches, broker, database, fleet, models, upkeep
from turnwise.cli.doctor.finding import Finding, guarded, note, ok
from turnwise.processes.settings import ServiceSettings, load_settings


def examine(**overrides: str | None) -> Iterator[Finding]:
    """Return what is found, as it is found; `overrides` are settings that win over the environment.

    Nothing is changed but for a permit in each queue of the broker, which does no harm. No model is called. A check
    that fails itself is a finding, too, and hides no other.
    """
    settings: list[ServiceSettings] = []
    yield from guarded("settings", _settings(settings, overrides), "correct them; until then nothing else is looked at")
    for found in settings:
        apps: list[App] = []
        yield from guarded("application", _application(found, apps), "correct TURNWISE_APP, or what the module needs")
        app = apps[0] if apps else None
        yield from guarded("shared database", database.check_shared(found))
        yield from guarded("database", _of_record(found, app))
        if app is not None:
            yield from guarded("queues of agents", application.check_queues(app, found))
            yield from guarded("models", models.check(app, found))
        yield from guarded("addresses", addresses.check(found))
        yield from guarded("issuer", access.check_issuer(found))
        yield from guarded("request rates", access.check_rates(found))
        yield from guarded("prefork metrics", upkeep.check_metrics())


def _settings(held: list[ServiceSettings], overrides: dict[str, str | None]) -> Iterator[Finding]:
    held.append(load_settings(**overrides))
    yield ok("settings", "all settings can be read")


def _application(settings: ServiceSettings, held: list[App]) -> Iterator[Finding]:
    held.append(application.load(settings))
    yield application.loaded(held[0])


def _of_record(settings: ServiceSettings, app: App | None) -> Iterator[Finding]:
    """The database, and what only it knows."""
    with database.opened(settings) as (store, findings):
        yield from findings
        yield from guarded("broker", broker.check(settings, app, store))
        if store is None:
            yield note("fleet", "not looked at: the database cannot be used")
            return
        yield from guarded("fleet", fleet.check(store, settings))
        if app is not None:
            yield from guarded("versions", application.check_versions(app, store, settings))
        yield from guarded("batches of providers", batches.check(store, app, settings))
        yield from guarded("retention", upkeep.check_retention(store, settings))
