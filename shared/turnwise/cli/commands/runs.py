"""Commands about runs, over HTTP: start, follow, look, answer, end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from turnwise.base.json_bounds import is_unicode
from turnwise.cli.commands.lists import runs
from turnwise.cli.completion import complete_run, complete_task
from turnwise.cli.options import DEFAULT_URL, JsonOption, RunArgument, SessionOption, UrlOption, usd
from turnwise.cli.selection import (
    CreatedAfter,
    CreatedBefore,
    DryRun,
    OlderThan,
    SessionFilter,
    StatusOption,
    TagOption,
    TaskOption,
    Yes,
    change_all,
    check_choice,
    selection,
)
from turnwise.cli.text.messages import as_json as json_of
from turnwise.cli.text.output import as_json_text

TaskArgument = Annotated[
    str, typer.Argument(metavar="TASK", help="Name of a task of the application.", autocompletion=complete_task)
]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    panel = "Runs"
    app.command("submit", rich_help_panel=panel)(submit)
    app.command("watch", rich_help_panel=panel)(watch)
    app.command("chat", rich_help_panel=panel)(chat)
    app.command("runs", rich_help_panel=panel)(runs)
    app.command("show", rich_help_panel=panel)(show)
    app.command("answer", rich_help_panel=panel)(answer)
    app.command("cancel", rich_help_panel=panel)(cancel)
    app.command("raise", rich_help_panel=panel)(raise_limits)
    app.command("inbox", rich_help_panel=panel)(inbox)
    app.command("resolve", rich_help_panel=panel)(resolve)


def submit(
    task: TaskArgument,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="What to work on; - reads it from stdin.")],
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Follow the run to its end; exit with 1 if it fails, with 3 if a limit ends it."),
    ] = False,
    max_cost: Annotated[str | None, typer.Option(help="Limit in US dollars, for instance 0.50; 0: none.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Limit of input and output tokens together; 0: none.")] = None,
    turns: Annotated[int | None, typer.Option(help="Limit of turns of the task.")] = None,
    deadline: Annotated[float | None, typer.Option(help="Limit in seconds from now.")] = None,
    on_limit: Annotated[str | None, typer.Option(help="At a limit of cost or tokens: end, or wait for more.")] = None,
    can_wait: Annotated[
        float | None, typer.Option(help="Seconds that a model's call may wait for a batch, at half the price.")
    ] = None,
    session: SessionOption = None,
    version: Annotated[
        str | None, typer.Option(help="Version of the application, where runs are pinned to versions.")
    ] = None,
    webhook: Annotated[
        str | None, typer.Option(metavar="URL", help="Where events of the run are sent; its secret is shown once.")
    ] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Start a run and print its id.

    Example: turnwise submit triage "I was charged twice in May."
    """
    from turnwise.cli.connections import connect
    from turnwise.cli.follow import follow

    text = _read_message(message)
    cost = usd(max_cost)
    with connect(url) as client:
        run = client.submit(
            task,
            text,
            max_cost=cost,
            max_tokens=max_tokens,
            turns=turns,
            deadline=deadline,
            on_limit=on_limit,
            can_wait=can_wait,
            session_id=session,
            version=version,
            webhook=webhook,
        )
        if run.webhook is not None and (wait or not as_json):
            typer.echo(f"Events are signed with {run.webhook.secret}, which is not shown again.", err=True)
        if wait:
            raise typer.Exit(follow(client, run.id, as_json=as_json))
        typer.echo(as_json_text(json_of(run)) if as_json else run.id)


def _read_message(given: str) -> str:
    """The message as it was given, or from standard input; raises `typer.BadParameter` for one that is no text."""
    if given == "-" and sys.stdin is None:  # the process was started with it closed
        raise typer.BadParameter("there is no standard input to read the message from")
    try:
        text = sys.stdin.read() if given == "-" else given
    except UnicodeDecodeError:
        text = None
    # In some locales a byte that is no text becomes half of a surrogate pair.
    if text is None or not is_unicode(text):
        raise typer.BadParameter("the message is not text in UTF-8")
    return text


def watch(run: RunArgument, as_json: JsonOption = False, url: UrlOption = DEFAULT_URL) -> None:
    """Follow a run from its beginning to its end; exits with 1 if it did not complete, with 3 if a limit ended it.

    Example: turnwise watch run_01j... --json | jq .type
    """
    from turnwise.cli.connections import connect
    from turnwise.cli.follow import follow

    with connect(url) as client:
        # The events are waited for while nothing answers; a wrong address is told at once.
        client.run(run)
        raise typer.Exit(follow(client, run, as_json=as_json))


def chat(
    task: TaskArgument,
    message: Annotated[
        str | None, typer.Argument(metavar="[MESSAGE]", help="The first message; asked for if left out.")
    ] = None,
    session: SessionOption = None,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="Continue a run that has not ended.", autocompletion=complete_run),
    ] = None,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Talk with a task: answer its questions, and send more messages to one that keeps its conversation.

    Answers appear while they are written. Leave with q, x, Ctrl-D or Ctrl-C: the run stays as it is, and the command
    to come back is shown.

    Example: turnwise chat triage
    """
    from turnwise.cli.commands.chat import Chat
    from turnwise.cli.connections import connect

    if run is not None and session is not None:
        raise typer.BadParameter("give --run or --session, not both")
    with connect(url) as client:
        raise typer.Exit(Chat(client=client, task=task, session=session, run=run, url=url).hold(message))


def show(
    run: RunArgument,
    html: Annotated[bool, typer.Option("--html", help="As a page that unfolds and can be searched.")] = False,
    text: Annotated[bool, typer.Option("--text", help="As text, every message in full.")] = False,
    tsv: Annotated[bool, typer.Option("--tsv", help="As a table with tabs.")] = False,
    timeline: Annotated[bool, typer.Option("--timeline", help="Where its time went; with --json, all of it.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there, not to standard output.")
    ] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Print a run, its messages and its result; or its whole log, rejected messages included.

    Example: turnwise show run_01j... --html -o run.html
    """
    from turnwise.cli.connections import connect
    from turnwise.cli.text.run import print_run, print_transcript

    forms = [name for name, wanted in (("html", html), ("text", text), ("tsv", tsv)) if wanted]
    if len(forms) + (as_json or timeline) > 1 or (output is not None and not forms):
        raise typer.BadParameter(
            "give one of --html, --text, --tsv and --timeline; --output is for the first three, --json for the last"
        )
    with connect(url) as client:
        if forms:
            from turnwise.cli.run_file import write_log

            write_log(client, run, forms[0], output)
            return
        if timeline:
            from turnwise.cli.text.timeline import MOST_ITEMS, print_timeline, whole

            if as_json:
                typer.echo(as_json_text(json_of(whole(client, run))))
            else:
                print_timeline(client.timeline(run, limit=MOST_ITEMS))
            return
        found, transcript = json_of(client.run(run)), json_of(client.transcript(run))
    if as_json:
        typer.echo(as_json_text({"run": found, "transcript": transcript}))
        return
    print_transcript(transcript)
    print_run(found)


def answer(
    run: RunArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The answer.")],
    question: Annotated[str | None, typer.Option(help="Which question, where several are open.")] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Answer a run's question; the first answer counts.

    Example: turnwise answer run_01j... "yes"
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        taken = client.answer(run, text, question=question)
    typer.echo(as_json_text(json_of(taken)) if as_json else f"{run} has its answer.")


def cancel(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="Id of the run; or choose runs by options.", autocompletion=complete_run),
    ] = None,
    status: StatusOption = None,
    task: TaskOption = None,
    tag: TagOption = None,
    session: SessionFilter = None,
    older_than: OlderThan = None,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """End a run, or all unfinished runs that match; their messages are kept.

    Example: turnwise cancel run_01j...

    Example: turnwise cancel --task triage --older-than 1h --dry-run
    """
    from turnwise.cli.connections import connect

    chosen = selection(
        status=status,
        task=task,
        tag=tag,
        session=session,
        older_than=older_than,
        created_after=created_after,
        created_before=created_before,
    )
    check_choice(run, chosen, dry_run=dry_run)
    with connect(url) as client:
        if run is None:
            change_all(client.cancel_runs, chosen, "cancelled", dry_run=dry_run, yes=yes, as_json=as_json)
            return
        found = client.cancel(run)
    typer.echo(as_json_text(json_of(found)) if as_json else f"{run} is asked to end.")


def raise_limits(
    run: RunArgument,
    max_cost: Annotated[
        str | None, typer.Option(help="The new limit in US dollars, for instance 2.00; 0: none.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="The new limit of tokens; 0: none.")] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Give a run that has not ended other limits; one that waits for budget continues.

    Example: turnwise raise run_01j... --max-cost 2.00
    """
    from turnwise.cli.connections import connect

    if max_cost is None and max_tokens is None:
        raise typer.BadParameter("give --max-cost, --max-tokens or both")
    with connect(url) as client:
        found = client.change_limits(run, max_cost=usd(max_cost), max_tokens=max_tokens)
    typer.echo(as_json_text(json_of(found)) if as_json else f"{run} has other limits.")


def inbox(as_json: JsonOption = False, url: UrlOption = DEFAULT_URL) -> None:
    """List what waits for a human, the oldest first: questions, and parked calls.

    Example: turnwise inbox
    """
    from turnwise.cli.connections import connect
    from turnwise.cli.text.run import print_inbox

    with connect(url) as client:
        items = [json_of(item) for item in client.all_inbox()]
    if as_json:
        typer.echo(as_json_text(items))
    elif items:
        print_inbox(items)
    else:
        typer.echo("Nothing waits for a human.", err=True)


def resolve(
    item: Annotated[str, typer.Argument(metavar="ID", help="Which parked call, as `turnwise inbox` shows it.")],
    result: Annotated[
        str | None, typer.Argument(metavar="[RESULT]", help="With --happened: what the handler returned.")
    ] = None,
    happened: Annotated[
        bool, typer.Option("--happened", help="The call has had its effect; it is not made again.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Call it again, with the same idempotency key.")] = False,
    fail: Annotated[bool, typer.Option("--fail", help="End the run with an error.")] = False,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Say how to continue with a parked call; the first answer counts.

    Example: turnwise resolve run_01j....1.2.1 --happened "The refund 4711 was made."
    """
    from turnwise.cli.connections import connect

    outcomes: dict[Literal["happened", "again", "fail"], bool] = {"happened": happened, "again": again, "fail": fail}
    chosen = [name for name, wanted in outcomes.items() if wanted]
    if len(chosen) != 1 or (result is not None and not happened):
        raise typer.BadParameter("give one of --happened, --again and --fail; a result is for --happened")
    with connect(url) as client:
        run = client.resolve(item, chosen[0], result)
    typer.echo(as_json_text(json_of(run)) if as_json else f"{run.id} goes on: {chosen[0]}.")
