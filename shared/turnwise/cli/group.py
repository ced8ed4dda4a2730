"""The group of all commands: it turns errors into one line and an exit code."""

from __future__ import annotations

import os
from typing import Any

import typer
from typer.core import TyperGroup

from turnwise.cli.refusal import told
from turnwise.errors import TurnwiseError
from turnwise.observability.logs import tell_fault

FAILED = 1
BAD_USAGE = 2
# A limit ended the run that was waited for: there is a result, which need not be the whole of it.
STOPPED = 3
# A command did its part, and something is left to do by hand.
NEEDS_A_HAND = 4
# Modules of the extras, and what to install without one of them.
_EXTRAS = {
    **dict.fromkeys(("sqlalchemy", "alembic", "psycopg", "celery", "kombu", "redis", "fastapi", "uvicorn"), "all"),
    "libcst": "port",
    **dict.fromkeys(("mcp", "mcp_types"), "mcp"),
}


class Commands(TyperGroup):
    """Exit codes: 0 ok, 1 the run failed, 2 bad usage or something missing around the program, 3 a limit ended the run,
    4 something is left to do by hand.

    With TURNWISE_DEBUG=1 an error keeps its traceback.
    """

    # Any: the context class that typer uses here has no public name.
    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error that Turnwise raises on purpose is told on stderr."""
        try:
            return super().invoke(ctx)
        except TurnwiseError as error:
            raise self._told(error, told(error, self.get_command(ctx, ctx.invoked_subcommand or ""))) from error
        except ModuleNotFoundError as error:
            extra = _EXTRAS.get((error.name or "").partition(".")[0])
            if extra is None:
                raise
            hint = f"{error.name} is not installed, and this command needs it: pip install 'turnwise[{extra}]'"
            raise self._told(error, hint) from error

    def _told(self, error: Exception, message: str) -> Exception:
        """Tell the error; what is to be raised instead of it."""
        if os.environ.get("TURNWISE_DEBUG") == "1":
            return error
        tell_fault(message)
        return typer.Exit(BAD_USAGE)
