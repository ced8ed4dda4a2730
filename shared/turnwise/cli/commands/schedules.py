"""`turnwise schedules`: runs that are submitted at set times, over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from turnwise.cli.options import DEFAULT_URL, JsonOption, UrlOption, seconds, usd
from turnwise.cli.text.messages import as_json as json_of
from turnwise.cli.text.output import as_json_text

group = typer.Typer(
    help="Submit runs at set times: by a line of cron, at an interval, or once.\n\n"
    'Example: turnwise schedules add nightly report "Write the report." --cron "0 3 * * *" --timezone Europe/Berlin',
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

_Schedule = Annotated[str, typer.Argument(metavar="SCHEDULE", help="Its name or id.")]
_Ahead = Annotated[int, typer.Option("--next", min=0, max=100, help="How many next ticks are shown.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.add_typer(group, name="schedules", rich_help_panel="Runs")


@group.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits and ._-")],
    task: Annotated[str, typer.Argument(metavar="TASK", help="Name of a task of the application.")],
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="The message of each run.")],
    cron: Annotated[str | None, typer.Option(help='Five fields, "0 3 * * MON-FRI", or @daily and the like.')] = None,
    every: Annotated[str | None, typer.Option(help="An interval: 90s, 15m, 2h, 1d.")] = None,
    at: Annotated[str | None, typer.Option(help="One moment: 2026-12-24T18:00, in the time zone.")] = None,
    timezone: Annotated[str, typer.Option(help="Of cron, and of times without an offset.")] = "UTC",
    start: Annotated[str | None, typer.Option(help="No tick before this moment.")] = None,
    end: Annotated[str | None, typer.Option(help="No tick after this moment.")] = None,
    jitter: Annotated[str | None, typer.Option(help="Ticks are up to so much later, by chance: 30s, 5m.")] = None,
    catch_up: Annotated[str, typer.Option(help="Ticks that were missed: skip, last or all.")] = "last",
    catch_up_limit: Annotated[int, typer.Option(min=1, max=100, help="With all: at most so many.")] = 10,
    overlap: Annotated[
        str, typer.Option(help="A tick while the run before it has not ended: skip, queue, cancel or allow.")
    ] = "skip",
    session: Annotated[str | None, typer.Option("--session", help="The session of all runs.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Of each run; may be given several times.")] = None,
    max_cost: Annotated[
        str | None, typer.Option(help="Limit of each run in US dollars, for instance 0.50; 0: none.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Limit of tokens of each run; 0: none.")] = None,
    turns: Annotated[int | None, typer.Option(help="Limit of turns of each run.")] = None,
    deadline: Annotated[float | None, typer.Option(help="Limit of each run in seconds.")] = None,
    on_limit: Annotated[str | None, typer.Option(help="At a limit of cost or tokens: end, or wait for more.")] = None,
    can_wait: Annotated[
        float | None, typer.Option(help="Seconds that a model's call may wait for a batch, at half the price.")
    ] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Make a schedule. Give one of --cron, --every and --at.

    Example: turnwise schedules add nightly report "Write the report." --cron "0 3 * * *" --timezone Europe/Berlin
    """
    from turnwise.base.json_value import given
    from turnwise.cli.connections import connect

    chosen: Any = given(catch_up=catch_up, overlap=overlap, on_limit=on_limit)
    with connect(url) as client:
        made = client.create_schedule(
            name,
            task,
            message,
            cron=cron,
            every=None if every is None else seconds(every),
            at=at,
            timezone=timezone,
            start_at=start,
            end_at=end,
            jitter=None if jitter is None else seconds(jitter),
            catch_up_limit=catch_up_limit,
            session_id=session,
            tags=tag,
            max_cost=usd(max_cost),
            max_tokens=max_tokens,
            turns=turns,
            deadline=deadline,
            can_wait=can_wait,
            **chosen,
        )
    _tell(json_of(made), as_json)


@group.command("list")
def list_schedules(as_json: JsonOption = False, url: UrlOption = DEFAULT_URL) -> None:
    """List schedules: their times, the last tick and the next one.

    Example: turnwise schedules list
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        found = [json_of(one) for one in client.all_schedules()]
    if as_json:
        typer.echo(as_json_text(found))
    elif found:
        from turnwise.cli.text.schedules import print_schedules

        print_schedules(found)
    else:
        typer.echo("There are no schedules; make one with `turnwise schedules add`.", err=True)


@group.command()
def show(
    schedule: _Schedule,
    ahead: _Ahead = 5,
    ticks: Annotated[int, typer.Option(min=0, max=200, help="How many of the last ticks are shown.")] = 10,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Show a schedule, its next ticks, and the last ones with their runs.

    Example: turnwise schedules show nightly --next 3
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        found = json_of(client.schedule(schedule, ahead=ahead))
        last = [json_of(one) for one in client.ticks(schedule, limit=ticks).items] if ticks else []
    if as_json:
        typer.echo(as_json_text({**found, "ticks": last}))
        return
    from turnwise.cli.text.schedules import print_schedule

    print_schedule(found, last)


@group.command()
def pause(
    schedule: _Schedule,
    note: Annotated[str | None, typer.Option(help="Shown with the schedule.")] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Let no tick happen until `turnwise schedules resume`.

    Example: turnwise schedules pause nightly --note "the office is closed"
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        found = json_of(client.pause_schedule(schedule, note))
    _tell(found, as_json, f"{found['name']} is paused. It goes on with: turnwise schedules resume {found['name']}")


@group.command()
def resume(schedule: _Schedule, as_json: JsonOption = False, url: UrlOption = DEFAULT_URL) -> None:
    """End a pause; ticks that were due meanwhile do not happen.

    Example: turnwise schedules resume nightly
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        found = json_of(client.resume_schedule(schedule))
    _tell(found, as_json)


@group.command()
def remove(schedule: _Schedule, as_json: JsonOption = False, url: UrlOption = DEFAULT_URL) -> None:
    """Delete a schedule with its ticks; its runs stay.

    Example: turnwise schedules remove nightly
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        found = json_of(client.remove_schedule(schedule))
    _tell(found, as_json, f"{found['name']} is removed.")


@group.command()
def trigger(schedule: _Schedule, as_json: JsonOption = False, url: UrlOption = DEFAULT_URL) -> None:
    """Submit a run of the schedule now, and print its id; the next tick stays.

    Example: turnwise schedules trigger nightly
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        run = json_of(client.trigger_schedule(schedule))
    typer.echo(as_json_text(run) if as_json else run["id"])


def _tell(found: dict[str, Any], as_json: bool, text: str | None = None) -> None:
    if as_json:
        typer.echo(as_json_text(found))
        return
    if text is None:
        following = found["next_ticks"]
        text = f"{found['name']}: next at {following[0]}" if following else f"{found['name']}: no tick is to come"
    typer.echo(text)
