"""The record as commands use it that work on the database itself."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise.record.store import Store


@contextmanager
def open_record(database: str | None, tenant: str, action: str) -> Iterator[Store]:
    """The whole record; what is changed goes into the audit log as `action`, done for `tenant`.

    Raises what is wrong with the settings or the database.
    """
    from turnwise.processes.bootstrap import open_store
    from turnwise.processes.settings import load_settings
    from turnwise.record.tenants.caller import Deed

    found, store = open_store(load_settings(database_url=database))
    try:
        yield store.of(None, deed=Deed(actor=actor(), tenant=tenant, action=action))
    finally:
        found.close()


def actor() -> str:
    """Return who runs the command, as the audit log calls him."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a container's user without a name
        return "cli"
