"""`turnwise tenants`: what tenants may use, where that differs from the settings; in the database itself."""

from __future__ import annotations

import json
from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from turnwise.base.money import decimal_string
from turnwise.cli.options import DatabaseOption, JsonOption, taken, usd

if TYPE_CHECKING:
    from turnwise.record.tenants.tenants import TenantRecord

_Tokens = Annotated[int | None, typer.Option(help="The same in tokens.")]

group = typer.Typer(
    help="Set and list limits of tenants, in the database itself.\n\n"
    "Example: turnwise tenants set acme --day-max-cost 5.00",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.add_typer(group, name="tenants", rich_help_panel="Tools")


@group.command("set")
def set_limits(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="Its name.")],
    day_max_cost: Annotated[str | None, typer.Option(help="Limit in US dollars per day (UTC).")] = None,
    day_max_tokens: _Tokens = None,
    month_max_cost: Annotated[str | None, typer.Option(help="Limit in US dollars per month (UTC).")] = None,
    month_max_tokens: _Tokens = None,
    requests_per_minute: Annotated[int | None, typer.Option(help="HTTP requests of all its callers.")] = None,
    max_unfinished_runs: Annotated[int | None, typer.Option(help="Runs at a time.")] = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Replace a tenant's own limits: one that is left out follows the settings, 0 is no limit.

    Example: turnwise tenants set acme --day-max-cost 5.00 --requests-per-minute 600
    """
    from turnwise.api.administration import TenantChange
    from turnwise.cli.connections import open_audited
    from turnwise.record.tenants.tenant import TenantLimits, known_tenant

    limits = taken(
        TenantChange,
        day_max_cost=usd(day_max_cost),
        day_max_tokens=day_max_tokens,
        month_max_cost=usd(month_max_cost),
        month_max_tokens=month_max_tokens,
        requests_per_minute=requests_per_minute,
        max_unfinished_runs=max_unfinished_runs,
    )
    with open_audited(database, known_tenant(tenant), "set_tenant") as store:
        _tell([store.set_tenant_limits(tenant, TenantLimits(**dict(limits)))], as_json)


@group.command("list")
def list_tenants(as_json: JsonOption = False, database: DatabaseOption = None) -> None:
    """List the tenants that have limits of their own.

    Example: turnwise tenants list --json
    """
    from turnwise.cli.connections import open_audited

    with open_audited(database, "default", "list_tenants") as store:
        found: list[TenantRecord] = []
        while page := store.tenants(found[-1].id if found else None, 200):
            found += page
    if found or as_json:
        _tell(found, as_json)
    else:
        typer.echo("No tenant has limits of its own; set some with `turnwise tenants set`.", err=True)


def _tell(tenants: list[TenantRecord], as_json: bool) -> None:
    rows = [{"id": tenant.id} | _limits(tenant) for tenant in tenants]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        own = ", ".join(f"{name} {value}" for name, value in row.items() if name != "id" and value is not None)
        typer.echo(f"{row['id']}: {own or 'as the settings say'}")


def _limits(tenant: TenantRecord) -> dict[str, Any]:
    limits = asdict(tenant.limits)
    return {name: decimal_string(value) if isinstance(value, Decimal) else value for name, value in limits.items()}
