"""Commands that serve: the embedded server, each service of the distributed set, the schema, the fake model."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from turnwise.cli.options import AppOption, DatabaseOption

if TYPE_CHECKING:
    from turnwise.app import App
    from turnwise.cli.signals import StopSignals
    from turnwise.processes.settings import ServiceSettings

logger = logging.getLogger(__name__)

BindOption = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where to listen; default: TURNWISE_BIND.")]
ConcurrencyOption = Annotated[int | None, typer.Option(min=1, help="Number of concurrent tasks.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    servers, tools = "Servers", "Tools"
    app.command("up", rich_help_panel=servers)(up)
    app.command("gateway", rich_help_panel=servers)(gateway)
    app.command("coordinator", rich_help_panel=servers)(coordinator)
    app.command("worker", rich_help_panel=servers)(worker)
    app.command("migrate", rich_help_panel=tools)(migrate)
    app.command("fake-llm", rich_help_panel=tools)(fake_llm)


def up(app: AppOption = None, bind: BindOption = None, database: DatabaseOption = None) -> None:
    """Serve an application in one process: gateway, coordinator and responders on a SQLite file.

    Example: turnwise up --app office:app
    """
    settings = settings_of(app=app, bind=bind, database_url=database)
    from turnwise.cli.signals import StopSignals

    with StopSignals() as stop:
        _serve_all(settings, stop)


def _serve_all(settings: ServiceSettings, stop: StopSignals) -> None:
    from turnwise.base.garbage import collections_paused, keep_memory_tidy

    with collections_paused():
        from turnwise.app import load_app
        from turnwise.cli.embedded import EmbeddedServer

    loaded = load_app(settings.app)
    if settings.broker_url is not None:
        logger.warning(
            "TURNWISE_BROKER_URL is not used: all work stays in this process", extra={"action": "broker_unused"}
        )
    stop.hold()
    with EmbeddedServer(settings, loaded) as server:
        keep_memory_tidy()
        _greet(settings, loaded, server.url)
        stop.wait()
        logger.info("This worker is told to end, and takes no more work", extra={"action": "worker_draining"})


def _greet(settings: ServiceSettings, app: App, url: str) -> None:
    """Tell a person where the server is; where JSON is asked for, a program that reads lines."""
    if settings.log_format == "json":
        _listening(url)
        return
    typer.echo(f"Turnwise serves {app.name} (tasks: {', '.join(app.tasks)})")
    typer.echo(f"  console   {url}{settings.root_path}/")
    typer.echo(f"  URL       {url}")
    typer.echo(f"  API       {url}/docs")
    typer.echo(f"  database  {settings.database_url}")
    typer.echo("Ctrl-C stops it.")


def gateway(app: AppOption = None, bind: BindOption = None) -> None:
    """Serve the HTTP interface of a distributed installation.

    Example: TURNWISE_DATABASE_URL=postgresql://... TURNWISE_BROKER_URL=amqp://... turnwise gateway --app office:app
    """
    settings = settings_of(app=app, bind=bind)
    from turnwise.cli.signals import exit_when_stopped
    from turnwise.processes.service_loading import load_service

    with exit_when_stopped():
        load_service("gateway").run(settings, on_ready=_listening)


def coordinator(app: AppOption = None, concurrency: ConcurrencyOption = 4) -> None:
    """Make the moves of runs, and recover lost work, as a Celery worker.

    Example: turnwise coordinator --app office:app --concurrency 8
    """
    settings = settings_of(app=app)
    from turnwise.cli.signals import exit_when_stopped
    from turnwise.processes.service_loading import load_service

    # Until Celery listens to signals itself; a container's first process would not even end by them.
    with exit_when_stopped():
        load_service("coordinator").run(settings, concurrency)


def worker(
    app: AppOption = None,
    queues: Annotated[
        str, typer.Option("--queues", "-Q", metavar="NAMES", help="Work queues, separated by commas.")
    ] = "llm,agent",
    concurrency: ConcurrencyOption = 16,
    pool: Annotated[
        Literal["threads", "prefork", "solo"], typer.Option(help="Celery's pool; prefork for work on the CPU.")
    ] = "threads",
    autoscale: Annotated[
        str | None,
        typer.Option(metavar="MAX,MIN", help="Most and fewest prefork children; instead of --concurrency."),
    ] = None,
) -> None:
    """Answer for models and tools, as a Celery worker.

    Example: turnwise worker --app office:app -Q llm --concurrency 50
    """
    settings = settings_of(app=app)
    from turnwise.cli.signals import exit_when_stopped
    from turnwise.errors import ConfigurationError
    from turnwise.processes.service_loading import load_service

    names = [name.strip() for name in queues.split(",") if name.strip()]
    if not names:
        raise ConfigurationError(f"-Q is {queues!r}; expected names of queues, for instance -Q llm,agent")
    with exit_when_stopped():  # as for the coordinator
        load_service("responders").run(settings, names, concurrency, pool, _range_of(autoscale))


def _range_of(autoscale: str | None) -> tuple[int, int] | None:
    """The most and the fewest of `--autoscale MAX,MIN`; as with Celery, MIN may be left out and is 0 then."""
    if autoscale is None:
        return None
    from turnwise.errors import ConfigurationError

    most, _, fewest = autoscale.partition(",")
    if not (most.isdigit() and (fewest or "0").isdigit() and int(most) >= max(1, int(fewest or 0))):
        raise ConfigurationError(f"--autoscale is {autoscale!r}; expected MAX,MIN, for instance --autoscale=10,2")
    return int(most), int(fewest or 0)


def migrate(
    create_database: Annotated[
        bool, typer.Option("--create-database", help="Create the database on its PostgreSQL server if it is missing.")
    ] = False,
    database: DatabaseOption = None,
) -> None:
    """Bring the database's schema to this version; safe to run twice.

    Example: turnwise migrate --create-database --database postgresql://user:password@db.example.com/turnwise
    """
    settings = settings_of(database_url=database)
    from turnwise.record.database.database import Database

    if create_database and settings.database_is_file:
        from turnwise.errors import ConfigurationError

        raise ConfigurationError(
            "--create-database is for PostgreSQL, but TURNWISE_DATABASE_URL is not set, or names a file; set it, or "
            "leave the option out: `turnwise migrate` makes the file"
        )
    found = Database(settings.database_url)
    try:
        if create_database and found.create():
            typer.echo(f"Created the database {found.name}.")
        found.migrate()
        found.check_schema()
    finally:
        found.close()
    typer.echo(f"The schema of {found.name} is up to date.")


def fake_llm(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="A .json file of rules, a .py file, or a module.")],
    bind: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0: any.")] = "127.0.0.1:8090",
    requests: Annotated[int | None, typer.Option(min=1, help="Requests in a window, per model and key.")] = None,
    tokens: Annotated[int | None, typer.Option(min=1, help="Tokens in a window, per model and key.")] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Calls at once, per model and key.")] = None,
    window: Annotated[float | None, typer.Option(min=0.001, help="Seconds; 60 unless the script says it.")] = None,
) -> None:
    """Serve scripted answers as an OpenAI-compatible server, for tests and demos.

    It answers /v1/embeddings as well: the same text has the same vector, texts with common words have near ones.
    Calls beyond a limit are answered with 429, and the remainder is announced in OpenAI's headers.

    Example: turnwise fake-llm rules.json --bind 127.0.0.1:8090 --requests 60 --concurrency 4
    """
    from turnwise.cli.signals import exit_when_stopped
    from turnwise.processes.settings import parse_address
    from turnwise.testing.fake_llm.limits import ServerLimits
    from turnwise.testing.fake_llm.server import run_fake_llm

    host, port = parse_address(bind, "--bind")
    given = {"requests": requests, "tokens": tokens, "concurrency": concurrency, "window": window}
    limits = ServerLimits.model_validate({name: value for name, value in given.items() if value is not None})
    with exit_when_stopped():
        run_fake_llm(script, host, port, lambda url: typer.echo(f"Serving {script} at {url}"), limits)


def _listening(url: str) -> None:
    logger.info("The gateway listens at %s", url, extra={"action": "listening", "url": url})


def settings_of(**overrides: str | None) -> ServiceSettings:
    """The settings of a process that serves, with its logs set up."""
    from turnwise.observability.logs import begin_logging, configure_logging, tell_uncaught
    from turnwise.processes.settings import load_settings

    begin_logging()
    settings = load_settings(**overrides)
    configure_logging(settings.log_format, settings.log_level)
    tell_uncaught()
    return settings


def settings_of_command(**overrides: str | None) -> ServiceSettings:
    """The settings of a command that does one thing and ends: what it logs is prose, as is what it says itself."""
    from turnwise.observability.logs import configure_logging
    from turnwise.processes.settings import load_settings

    configure_logging("console")
    settings = load_settings(**overrides)
    configure_logging("console", settings.log_level)
    return settings
