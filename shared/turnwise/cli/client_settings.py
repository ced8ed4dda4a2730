"""Settings of the commands that are clients: where the gateway is, and the key that they send.

They come from the environment, or else from the `.env` file of the working directory, which servers read as well.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import typer

# Where `turnwise up` and a gateway listen unless they are told otherwise.
LOCAL_GATEWAY = "http://127.0.0.1:8080"
URL_VARIABLE = "TURNWISE_URL"
# Where commands find the key that they send, the first that is set.
KEY_VARIABLES = ("TURNWISE_API_KEY", "TURNWISE_AUTH_TOKEN")


class ClientSetting(NamedTuple):
    """A value, and `name`: the variable that has it, and where that is."""

    name: str
    value: str


def client_setting(*variables: str) -> ClientSetting | None:
    """Return the first of these variables that is set; one in the environment wins over all of the file.

    Raises `ConfigurationError` for a file that cannot be read.
    """
    for name in variables:
        if value := os.environ.get(name):
            return ClientSetting(name, value)
    from turnwise.processes.env_file import env_file_values

    # A variable that is empty in the environment is not to be taken from the file.
    hidden = {name for name in variables if name in os.environ}
    values = env_file_values() if len(hidden) < len(variables) else {}
    found = ((name, values.get(name)) for name in variables if name not in hidden)
    return next((ClientSetting(f"{name} (in .env)", value) for name, value in found if value), None)


def gateway_key() -> str | None:
    """Return the key in TURNWISE_API_KEY, or else the token in TURNWISE_AUTH_TOKEN; None without one.

    Raises `ConfigurationError` for a `.env` file that cannot be read.
    """
    found = client_setting(*KEY_VARIABLES)
    return found.value if found else None


def gateway_or_default() -> str:
    """Return the address in TURNWISE_URL, or else that of a gateway on this machine.

    Raises `ConfigurationError` for a `.env` file that cannot be read.
    """
    found = client_setting(URL_VARIABLE)
    return found.value if found else LOCAL_GATEWAY


def given_or_found(ctx: typer.Context, param: typer.CallbackParam, given: str) -> str:
    """Return the address that a command was given, or else that of the `.env` file: a callback of `--url`."""
    source = ctx.get_parameter_source(str(param.name))
    # By its name: typer has a class of its own for it.
    return gateway_or_default() if source is not None and source.name == "DEFAULT" else given
