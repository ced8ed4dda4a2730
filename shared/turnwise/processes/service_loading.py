"""Loads a service's module by name: the library never imports a service by itself."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Literal

from turnwise.base.garbage import collections_paused
from turnwise.errors import ConfigurationError

Service = Literal["gateway", "coordinator", "responders"]


def load_service(service: Service, module: str = "service") -> ModuleType:
    """The module `turnwise_<service>.<module>`; raises `ConfigurationError` naming the extra that is not installed."""
    name = f"turnwise_{service}.{module}"
    try:
        with collections_paused():
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A module of ours that is missing within an installed service is a fault, not a missing extra.
        if error.name is not None and error.name.startswith(f"turnwise_{service}."):
            raise
        raise ConfigurationError(
            f"this command needs the {service}, and {error.name} is not installed; "
            f"install it with: pip install 'turnwise[{service}]'"
        ) from error
