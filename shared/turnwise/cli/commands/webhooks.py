"""`turnwise webhooks`: receivers of events, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from turnwise.cli.options import DEFAULT_URL, JsonOption, UrlOption
from turnwise.cli.text.messages import as_json as json_of
from turnwise.cli.text.output import as_json_text

if TYPE_CHECKING:
    from turnwise.api.webhooks import DeliveryView, NewWebhookView, WebhookView

_Webhook = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Its id, as `turnwise webhooks list` shows it.")]
_Events = Annotated[
    list[str] | None,
    typer.Option(
        "--event",
        metavar="TYPE",
        help="Type of event, a group (run.*) or *; may be given several times.  [default: the end of a run, and when "
        "a person has to act]",
    ),
]

group = typer.Typer(
    help="Create, try and replay webhooks, which get events of runs.\n\n"
    "Example: turnwise webhooks create https://example.com/turnwise",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.add_typer(group, name="webhooks", rich_help_panel="Tools")


@group.command()
def create(
    target: Annotated[str, typer.Argument(metavar="URL", help="Where events are sent.")],
    event: _Events = None,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    secret: Annotated[str | None, typer.Option(help="whsec_ and base64; one is made if left out.")] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Have events of all runs sent to a URL, and print the secret that signs them: it is shown this once.

    Example: turnwise webhooks create https://example.com/turnwise --event "run.*"
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        made = client.create_webhook(target, events=event, description=description, secret=secret)
    _tell_secret(made, as_json)


@group.command("list")
def list_webhooks(as_json: JsonOption = False, url: UrlOption = DEFAULT_URL) -> None:
    """List webhooks, newest first, with how many deliveries wait and were given up.

    Example: turnwise webhooks list
    """
    from turnwise.cli.connections import connect
    from turnwise.cli.text.console import print_table

    found: list[WebhookView] = []
    with connect(url) as client:
        cursor: str | None = None
        while True:
            page = client.webhooks(cursor=cursor)
            found += page.items
            if (cursor := page.next_cursor) is None:
                break
    if as_json:
        typer.echo(as_json_text([json_of(one) for one in found]))
        return
    if not found:
        typer.echo("There are no webhooks; make one with `turnwise webhooks create`.", err=True)
        return
    print_table(
        ("id", "url", "events", "state", "pending", "parked"),
        [(one.id, one.url, " ".join(one.events), _state(one), str(one.pending), str(one.parked)) for one in found],
    )


@group.command()
def change(
    webhook: _Webhook,
    target: Annotated[
        str | None, typer.Option("--to", metavar="URL", help="Where events are sent from now on.")
    ] = None,
    event: _Events = None,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    active: Annotated[bool | None, typer.Option("--enable/--disable", help="Whether anything is sent.")] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Change a webhook; what is left out stays. What waits for one that is disabled is parked.

    Example: turnwise webhooks change hook_01j... --enable
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        found = client.change_webhook(webhook, url=target, events=event, description=description, active=active)
    typer.echo(as_json_text(json_of(found)) if as_json else f"{found.id} is {_state(found)}: {found.url}")


@group.command()
def rotate(
    webhook: _Webhook,
    overlap_hours: Annotated[
        float, typer.Option(min=0, help="For how long the old secret signs as well.", show_default=True)
    ] = 24.0,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Replace the secret, and print the new one; for a while messages are signed with both.

    Example: turnwise webhooks rotate hook_01j... --overlap-hours 1
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        made = client.rotate_webhook(webhook, overlap=overlap_hours * 3_600)
    _tell_secret(made, as_json)


@group.command()
def delete(webhook: _Webhook, url: UrlOption = DEFAULT_URL) -> None:
    """Forget a webhook, and all that was or is to be sent to it.

    Example: turnwise webhooks delete hook_01j...
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        client.delete_webhook(webhook)
    typer.echo(f"{webhook} is deleted.")


@group.command()
def test(webhook: _Webhook, as_json: JsonOption = False, url: UrlOption = DEFAULT_URL) -> None:
    """Have a message sent that tells of no event.

    Example: turnwise webhooks test hook_01j...
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        sent = client.test_webhook(webhook)
    told = f"{sent.id} is being sent. What came of it: turnwise webhooks deliveries {webhook}"
    typer.echo(as_json_text(json_of(sent)) if as_json else told)


@group.command()
def deliveries(
    webhook: _Webhook,
    state: Annotated[
        Literal["pending", "delivered", "parked"] | None, typer.Option(help="Only those in that state.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """List what was, or is to be, sent to a webhook, newest first.

    Example: turnwise webhooks deliveries hook_01j... --state parked
    """
    from turnwise.cli.connections import connect
    from turnwise.cli.text.console import print_table

    with connect(url) as client:
        found = client.deliveries(webhook, state=state, limit=limit).items
    if as_json:
        typer.echo(as_json_text([json_of(one) for one in found]))
        return
    if not found:
        typer.echo("There are no deliveries.", err=True)
        return
    print_table(("id", "type", "run", "state", "attempts", "last outcome"), [_delivery_row(one) for one in found])


@group.command()
def replay(
    webhook: _Webhook,
    delivery: Annotated[
        str | None, typer.Option("--delivery", metavar="ID", help="Only this one, also if it was delivered.")
    ] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Have parked messages sent again, each under its id.

    Example: turnwise webhooks replay hook_01j...
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        if delivery is not None:
            one = client.replay_delivery(webhook, delivery)
            typer.echo(as_json_text(json_of(one)) if as_json else f"{one.id} is being sent again.")
            return
        found = client.replay_deliveries(webhook)
    typer.echo(as_json_text(json_of(found)) if as_json else f"{found.replayed} messages are being sent again.")


def _tell_secret(made: NewWebhookView, as_json: bool) -> None:
    if as_json:
        typer.echo(as_json_text(json_of(made)))
        return
    typer.echo(made.secret)
    typer.echo(f"{made.id}: {', '.join(made.events)} to {made.url}. The secret is not shown again.", err=True)


def _state(one: WebhookView) -> str:
    return "active" if one.active else f"disabled ({one.disabled_reason})"


def _delivery_row(one: DeliveryView) -> tuple[str, ...]:
    outcome = one.error or (str(one.status_code) if one.status_code is not None else "-")
    return one.id, one.type, one.run or "-", one.state, str(one.attempts), outcome
