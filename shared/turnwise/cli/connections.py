"""Connections of commands: to a gateway, and to the record itself."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from turnwise.cli.client_settings import URL_VARIABLE, client_setting, gateway_key

if TYPE_CHECKING:
    from turnwise.client import Client
    from turnwise.record.roles.administrator import OperatorRole
    from turnwise.record.roles.archivist import ArchivistRole
    from turnwise.record.store import Store


# How often a request is sent again that the gateway did not answer: a proxy or a database may be away for a moment.
_RETRIES = 2


def connect(url: str) -> Client:
    """A client of the gateway at `url`, with the key of the settings; raises `ConfigurationError` for no URL."""
    from turnwise.client import Client

    return Client(checked_url(url), gateway_key(), retries=_RETRIES)


def checked_url(url: str) -> str:
    """Return the URL of a gateway as it was given; raises `ConfigurationError`, which says where that was."""
    from turnwise.client.address import gateway_url

    found = client_setting(URL_VARIABLE)
    return gateway_url(url, found.name if found and found.value == url else "--url")


@contextmanager
def open_record(url: str) -> Iterator[ArchivistRole]:
    """The record of the database; raises `DatabaseUnavailableError`, `SchemaVersionError`, `ConfigurationError`."""
    from turnwise.record.database.database import Database
    from turnwise.record.store import Store

    database = Database(url)
    try:
        database.check_schema()
        yield Store(database).archivist
    finally:
        database.close()


@contextmanager
def open_installation(database: str | None) -> Iterator[Store]:
    """The record of an installation; raises what is wrong with the settings or the database."""
    from turnwise.processes.bootstrap import open_store
    from turnwise.processes.settings import load_settings

    found, store = open_store(load_settings(database_url=database))
    try:
        yield store
    finally:
        found.close()


@contextmanager
def open_audited(database: str | None, tenant: str, action: str) -> Iterator[OperatorRole]:
    """The record as an operator has it; what is changed goes into the audit log as `action`, done for `tenant`.

    Raises what is wrong with the settings or the database.
    """
    with open_installation(database) as store:
        yield _audited(store, tenant, action)


@contextmanager
def open_audited_for_key(database: str | None, key_id: str, action: str) -> Iterator[OperatorRole]:
    """The same, done for the tenant of a key; raises `NotFoundError` as well."""
    with open_installation(database) as store:
        yield _audited(store, store.operator().api_key(key_id).tenant, action)


def _audited(store: Store, tenant: str, action: str) -> OperatorRole:
    from turnwise.record.tenants.caller import Deed

    return store.operator(deed=Deed(actor=actor(), tenant=tenant, action=action))


def actor() -> str:
    """Return who runs the command, as the audit log calls him."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a container's user without a name
        return "cli"
