"""The forms in which programs say where an MCP server is.

Transports of the `fastmcp` library are read by their attributes, so that it need not be installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from turnwise.errors import ConfigurationError
from turnwise.integrations.mcp.transport import Address


def address_of(
    server: Any, headers: Mapping[str, str] | None = None, env: Mapping[str, str] | None = None, cwd: Any = None
) -> Address:
    """Return where `server` is.

    It may be a URL, a command, the path of a script in Python or JavaScript (a text or a `Path`; a file that exists may
    have blanks in its name), a server object of the libraries `mcp` or `fastmcp`, a transport of either, or a function
    without arguments that returns any of these. `headers`, `env` and `cwd` go before those of a transport. Raises
    `ConfigurationError` for anything else.
    """
    given = _called(server)
    own: dict[str, Any] = {}
    if _is_transport(given):
        given, own = _of_transport(given)
    elif not isinstance(given, str | Sequence) and "://" in str(given) and hasattr(given, "host"):
        given = str(given)  # a URL of pydantic's
    cwd = cwd if cwd is not None else own.get("cwd")
    return Address(
        server=_checked(given, cwd),
        headers={**own.get("headers", {}), **(headers or {})},
        env={**own.get("env", {}), **(env or {})},
        cwd=cwd,
        sse=bool(own.get("sse")),
    )


def _called(server: Any) -> Any:
    is_function = callable(server) and not hasattr(server, "list_tools") and not _is_transport(server)
    return server() if is_function else server


def _is_transport(given: Any) -> bool:
    return hasattr(given, "connect_session")


def _of_transport(transport: Any) -> tuple[Any, dict[str, Any]]:
    """The server that a transport leads to, and what it brings."""
    if hasattr(transport, "command"):
        words = [transport.command, *(transport.args or ())]
        return words, {"env": transport.env or {}, "cwd": transport.cwd}
    if hasattr(transport, "url"):
        headers = {**(transport.headers or {}), **_authorization(transport)}
        return str(transport.url), {"headers": headers, "sse": "sse" in type(transport).__name__.lower()}
    if hasattr(transport, "server"):
        return transport.server, {}
    raise ConfigurationError(
        f"no MCP server can be reached by a {type(transport).__name__}; give a command, a URL, or the server itself"
    )


def _authorization(transport: Any) -> dict[str, str]:
    auth = getattr(transport, "auth", None)
    if auth is None:
        return {}
    token = getattr(auth, "token", None)
    if token is None:
        raise ConfigurationError(
            f"the transport authenticates with a {type(auth).__name__}, which is not supported; give a token in its "
            "headers: {'Authorization': 'Bearer ...'}"
        )
    return {"Authorization": f"Bearer {token.get_secret_value() if hasattr(token, 'get_secret_value') else token}"}


def _checked(given: Any, cwd: Any) -> Any:
    """A server as an `Address` takes it; raises `ConfigurationError` for what is none."""
    if isinstance(given, os.PathLike):
        return _run(os.fsdecode(given))
    if isinstance(given, str):
        return _text(given, cwd)
    if isinstance(given, list | tuple) and all(isinstance(word, str | os.PathLike) for word in given):
        return [os.fsdecode(word) for word in given]
    # A server of `fastmcp` is one of `mcp` inside.
    given = getattr(given, "_mcp_server", given)
    # In turn: a server, its lower level, the parameters of a command, and a transport of `mcp`.
    if any(hasattr(given, name) for name in ("list_tools", "get_request_handler", "command", "__aenter__")):
        return given
    raise ConfigurationError(
        f"{given!r} ({type(given).__name__}) is not an MCP server; give a URL, a command, the path of a script, or the "
        "server itself"
    )


def _text(given: str, cwd: Any) -> str | list[str]:
    """A path as the command that runs it; a URL or a command line as it is."""
    if "://" in given.split(" ")[0]:
        if not given.startswith(("http://", "https://")):
            raise ConfigurationError(f"the MCP server {given!r} has no URL of HTTP; begin it with http:// or https://")
        return given
    # A file first: its path may have blanks, by which a command is split.
    is_path = Path(cwd or "", given).is_file() or " " not in given.strip()
    return _run(given) if is_path and given.strip() else given


def _run(path: str) -> list[str]:
    """The command that runs a file."""
    runs = {".py": sys.executable, ".js": "node"}
    return next(([program, path] for end, program in runs.items() if path.endswith(end)), [path])
