"""Options that several commands share."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from turnwise.cli.client_settings import LOCAL_GATEWAY, URL_VARIABLE, given_or_found
from turnwise.cli.completion import complete_run
from turnwise.models.budget.budget import parse_usd

if TYPE_CHECKING:
    from turnwise.api.body import Body

Taken = TypeVar("Taken", bound="Body")

DEFAULT_URL = LOCAL_GATEWAY

AppOption = Annotated[
    str | None, typer.Option("--app", metavar="MODULE:NAME", help="The application; default: TURNWISE_APP.")
]
DatabaseOption = Annotated[
    str | None, typer.Option("--database", metavar="URL", help="Default: TURNWISE_DATABASE_URL.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.", autocompletion=complete_run)]
SessionOption = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="Continue the conversation of this session.")
]
UrlOption = Annotated[
    str,
    typer.Option(
        "--url",
        envvar=URL_VARIABLE,
        help="The gateway.",
        show_default=True,
        show_envvar=True,
        callback=given_or_found,
    ),
]


_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def seconds(text: str) -> float:
    """A duration as given to an option: 30d, 12h, 45m, 90s, or plain seconds; raises `typer.BadParameter`."""
    number, unit = (text[:-1], _UNITS[text[-1]]) if text[-1:] in _UNITS else (text, 1)
    try:
        found = float(number) * unit
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise typer.BadParameter(f"{text!r} is not a duration; expected for instance 30d, 12h, 45m or 90s")
    return found


def taken(kind: type[Taken], **values: object) -> Taken:
    """Values of options as the API takes them; raises `typer.BadParameter` for the first one that it refuses."""
    from pydantic import ValidationError

    try:
        return kind(**values)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        option = f"--{'-'.join(map(str, fault['loc'])).replace('_', '-')}"
        raise typer.BadParameter(fault["msg"].removeprefix("Value error, "), param_hint=option) from error


def usd(text: str | None) -> Decimal | None:
    """US dollars as given to an option; raises `typer.BadParameter`."""
    if text is None:
        return None
    amount = parse_usd(text)
    if amount is None:
        raise typer.BadParameter(f"{text!r} is not an amount in US dollars; expected for instance 0.50")
    return amount
