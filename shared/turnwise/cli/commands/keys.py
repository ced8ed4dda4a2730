"""`turnwise keys`: API keys, made and managed in the database itself; the first one can be made no other way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from turnwise.base.times import rfc3339
from turnwise.cli.options import DatabaseOption, JsonOption, taken
from turnwise.record.tenants.api_key import MAX_LIFETIME, MAX_OVERLAP

if TYPE_CHECKING:
    from turnwise.record.tenants.api_key import ApiKey
    from turnwise.record.tenants.keys import KeyRecord

_DAY = 86_400.0
_Key = Annotated[str, typer.Argument(metavar="KEY", help="The key's id, as `turnwise keys list` shows it.")]

group = typer.Typer(
    help="Create, list, rotate and revoke API keys, in the database itself.\n\n"
    "Example: turnwise keys create --scope admin",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.add_typer(group, name="keys", rich_help_panel="Tools")


@group.command()
def create(
    name: Annotated[str, typer.Option(help="What the key is for.")] = "made by a command",
    tenant: Annotated[str, typer.Option(help="Whose key it is.")] = "default",
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="runs:read, runs:write, admin; may be given several times.  [default: runs:read, runs:write]"
        ),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(min=0.001, max=MAX_LIFETIME / _DAY, help="Until it expires; it does not if left out."),
    ] = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Make a key, and print it: its secret is shown this once.

    Example: turnwise keys create --tenant acme --name shop --scope runs:read --scope runs:write --days 90
    """
    from turnwise.api.administration import NamedKey
    from turnwise.cli.connections import actor, open_audited
    from turnwise.record.tenants.caller import known_scopes
    from turnwise.record.tenants.keys import NewKey
    from turnwise.record.tenants.tenant import known_tenant

    new = NewKey(
        tenant=known_tenant(tenant),
        name=taken(NamedKey, name=name).name,
        scopes=known_scopes(scope or ["runs:read", "runs:write"]),
        lifetime=None if days is None else days * _DAY,
        created_by=actor(),
    )
    with open_audited(database, tenant, "create_key") as store:
        _tell_secret(*store.create_key(new), as_json)


@group.command("list")
def list_keys(
    tenant: Annotated[str | None, typer.Option(help="Only this tenant's.")] = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """List keys, newest first, also those that no longer work.

    Example: turnwise keys list --tenant acme --json
    """
    from turnwise.cli.connections import open_installation
    from turnwise.record.tenants.reach import EVERY_TENANT, OneTenant

    with open_installation(database) as store:
        seen = store.administrator(EVERY_TENANT if tenant is None else OneTenant(tenant))
        found, after = [], None
        while page := seen.api_keys(after, 200):
            found += page
            after = page[-1].id
    if as_json:
        typer.echo(json.dumps([_as_json(key) for key in found], indent=2))
    elif found:
        _print_table(found)
    else:
        typer.echo("There are no keys; make one with `turnwise keys create`.", err=True)


@group.command()
def rotate(
    key: _Key,
    overlap_hours: Annotated[
        float,
        typer.Option(
            min=0, max=MAX_OVERLAP / 3_600, help="For how long the old key can still be used.", show_default=True
        ),
    ] = 24.0,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Replace a key, and print the new one; the old one works for a while longer.

    Example: turnwise keys rotate key_01j... --overlap-hours 1
    """
    from turnwise.cli.connections import actor, open_audited_for_key

    with open_audited_for_key(database, key, "rotate_key") as store:
        _tell_secret(*store.rotate_key(key, overlap=overlap_hours * 3_600, created_by=actor()), as_json)


@group.command()
def revoke(key: _Key, as_json: JsonOption = False, database: DatabaseOption = None) -> None:
    """Revoke a key for good; gateways refuse it within 5 s.

    Example: turnwise keys revoke key_01j...
    """
    from turnwise.cli.connections import open_audited_for_key

    with open_audited_for_key(database, key, "revoke_key") as store:
        revoked = store.revoke_key(key)
    typer.echo(json.dumps(_as_json(revoked), indent=2) if as_json else f"{key} no longer works.")


def _tell_secret(key: KeyRecord, secret: ApiKey, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_as_json(key) | {"secret": secret.text}, indent=2))
        return
    typer.echo(secret.text)
    typer.echo(f"{key.id}: {', '.join(key.scopes)} of {key.tenant}. The key is not shown again.", err=True)


def _as_json(key: KeyRecord) -> dict[str, Any]:
    times = ("created_at", "expires_at", "revoked_at", "last_used_at")
    plain = ("id", "tenant", "name", "scopes", "created_by", "replaced_by")
    return {
        **{name: getattr(key, name) for name in plain},
        "prefix": f"tw_{key.prefix}",
        **{name: _when(getattr(key, name)) for name in times},
    }


def _when(at: float | None) -> str | None:
    return None if at is None else rfc3339(at, "seconds")


def _print_table(keys: list[KeyRecord]) -> None:
    from turnwise.cli.text.console import print_table

    columns = ("id", "begins with", "tenant", "name", "scopes", "expires", "last used", "revoked")
    rows = []
    for key in keys:
        times = [(_when(at) or "-") for at in (key.expires_at, key.last_used_at, key.revoked_at)]
        rows.append((key.id, f"tw_{key.prefix}", key.tenant, key.name, " ".join(key.scopes), *times))
    print_table(columns, rows)
