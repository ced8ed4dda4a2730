"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

DEFAULT_URL = "http://127.0.0.1:8080"

AppOption = Annotated[
    str | None, typer.Option("--app", metavar="MODULE:NAME", help="The application; default: TURNWISE_APP.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.")]
SessionOption = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="Go on with the conversation of this session.")
]
UrlOption = Annotated[
    str, typer.Option("--url", envvar="TURNWISE_URL", help="The gateway.", show_default=True, show_envvar=True)
]
