"""`turnwise mcp`: the tasks of an application as tools of the Model Context Protocol."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Annotated

import typer

from turnwise.cli.options import DEFAULT_URL, AppOption, DatabaseOption

if TYPE_CHECKING:
    from turnwise.cli.signals import StopSignals
    from turnwise.mcp_server.server import TaskServer

logger = logging.getLogger(__name__)


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("mcp", rich_help_panel="Servers")(mcp)


def mcp(
    url: Annotated[
        str | None,
        typer.Option("--url", envvar="TURNWISE_URL", help=f"The gateway; {DEFAULT_URL} without --app."),
    ] = None,
    app: AppOption = None,
    database: DatabaseOption = None,
    bind: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Serve streamable HTTP there; default: standard input and output."),
    ] = None,
    wait: Annotated[
        float | None,
        typer.Option(min=0, help="Seconds for which a call waits that names none; default: to the end of its run."),
    ] = None,
) -> None:
    """Offer an application's tasks as tools of the Model Context Protocol.

    The tasks are those of a server that runs (--url), or of an application that this process serves (--app).

    Example: turnwise mcp --app office:app
    """
    from turnwise.cli.commands.services import settings_of
    from turnwise.cli.signals import StopSignals
    from turnwise.errors import ConfigurationError

    if url is not None and app is not None:
        raise ConfigurationError(
            "both a gateway (--url or TURNWISE_URL) and an application (--app) are given; leave one out"
        )
    if database is not None and app is None:
        raise ConfigurationError("--database is for the runs of --app; a gateway has a database of its own")
    settings_of()  # the logs go to standard error
    with StopSignals() as stop, _gateway(url, app, database, stop) as address:
        _serve(address, wait, bind)


def _serve(address: str, wait: float | None, bind: str | None) -> None:
    from turnwise.base.garbage import collections_paused
    from turnwise.cli.client_settings import gateway_key

    with collections_paused():
        from turnwise.mcp_server.server import TaskServer

    server = TaskServer(address, gateway_key(), wait=wait)
    if bind is None:
        _serve_stdio(server)
    else:
        _serve_http(server, bind)


@contextmanager
def _gateway(url: str | None, app: str | None, database: str | None, stop: StopSignals) -> Iterator[str]:
    """The address of the gateway, served by this process if an application is given."""
    from turnwise.cli.client_settings import gateway_or_default
    from turnwise.cli.connections import checked_url

    if app is None:
        yield checked_url(gateway_or_default() if url is None else url)
        return
    # Standard output is the protocol's; an application may print when it is loaded.
    with redirect_stdout(sys.stderr):
        from turnwise.app import load_app
        from turnwise.cli.commands.services import settings_of
        from turnwise.cli.embedded import EmbeddedServer

        loaded = load_app(app)
    settings = settings_of(app=app, database_url=database, bind="127.0.0.1:0")
    stop.hold()
    with EmbeddedServer(settings, loaded) as embedded:
        stop.let_go()
        yield embedded.url


def _serve_stdio(server: TaskServer) -> None:
    import anyio

    from turnwise.mcp_server.transports import serve_stdio

    anyio.run(serve_stdio, server)


def _serve_http(server: TaskServer, bind: str) -> None:
    import anyio

    from turnwise.base.listening import base_url, listen
    from turnwise.mcp_server.transports import PATH, serve_http
    from turnwise.processes.settings import parse_address

    listener = listen(*parse_address(bind, "--bind"), "--bind")
    url = f"{base_url(listener)}{PATH}"

    def tell() -> None:
        logger.info("MCP clients are served at %s", url, extra={"action": "mcp_listening", "url": url})

    with listener:  # uvicorn raises the signal again that ended it, and this process ends with 0
        anyio.run(serve_http, server, listener, tell)
