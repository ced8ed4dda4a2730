"""`python -m deploy.without_docker`: the processes of docker-compose.yml on this machine, without Docker.

The same services with the same settings, in the same order: ours by this Python environment, PostgreSQL, RabbitMQ and
Redis by the programs of this machine, each on a free port of its own and with data of its own. Variables and profiles
are given as to compose. Ctrl-C stops all in good order, a second one at once.

    TURNWISE_AUTH_TOKEN=$(openssl rand -hex 32) python -m deploy.without_docker --profile scripted
    ... --profile observability                   with Prometheus and Alertmanager, where they are installed
    ... --use rabbitmq=amqp://guest:guest@127.0.0.1:5672/turnwise    a server that runs already
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from deploy.without_docker.compose_file import ComposeFile, read_compose_file
from deploy.without_docker.errors import ComposeError
from deploy.without_docker.fleet import Fleet
from deploy.without_docker.places import Places
from deploy.without_docker.program import Program
from deploy.without_docker.programs import Here, program_of
from deploy.without_docker.screen import Screen
from filelock import FileLock, Timeout

_ROOT = Path(__file__).parents[2]


def main() -> int:
    """Run until told to stop; 0 if all ended in good order, 1 if not, 2 for what was wrong before."""
    given = _arguments()
    profiles = [*given.profile, *filter(None, os.environ.get("COMPOSE_PROFILES", "").split(","))]
    try:
        file = read_compose_file(given.file, profiles)
        with _alone(given.data):
            return _run(file, given.data, dict(given.use))
    except ComposeError as error:
        print(f"without_docker: {error}", file=sys.stderr)  # noqa: T201 - the command's last word
        return 2


def _run(file: ComposeFile, data: Path, used: Mapping[str, str]) -> int:
    if unknown := set(used) - set(file.services):
        raise ComposeError(f"--use names {unknown.pop()}, which is no service of {file.folder}")
    places = Places(file, data / "volumes", used)
    screen = Screen([name for name in file.services if name not in used])
    programs = _programs(file, places, data, used, screen)

    def ready() -> None:
        addresses = [f"{name} http://{to}" for name, to in places.published().items() if name in programs]
        screen.say(f"All can be used: {', '.join(addresses)}. Ctrl-C stops them.")

    try:
        return 0 if asyncio.run(_serve(file, programs, screen, ready)) else 1
    except ComposeError as error:
        screen.say(str(error))
        return 1


async def _serve(file: ComposeFile, programs: Mapping[str, Program], screen: Screen, ready: Callable[[], None]) -> bool:
    fleet = Fleet(file.services, programs, screen.line)
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def told() -> None:
        if stop.is_set():
            fleet.kill()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told)
    return await fleet.run(stop, ready)


def _programs(
    file: ComposeFile, places: Places, data: Path, used: Mapping[str, str], screen: Screen
) -> dict[str, Program]:
    """The program of each service; what is in a profile and cannot be had here is left out, and told."""
    found = {}
    for name, service in file.services.items():
        if name in used:
            continue
        own = data / name
        for folder in (own, *places.volumes(name)):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            found[name] = program_of(Here(name=name, file=file, places=places, data=own))
        except ComposeError as error:
            if not service.profiles:
                raise
            screen.say(f"{name} is left out: {error}")
    return found


@contextmanager
def _alone(data: Path) -> Iterator[None]:
    """Nobody else uses the folder `data`; raises `ComposeError` if somebody does."""
    data.mkdir(parents=True, exist_ok=True)
    try:
        held = FileLock(data / "lock", timeout=0).acquire()
    except Timeout as error:
        raise ComposeError(f"the services of {data} run already; stop those, or give another --data") from error
    with held:
        yield


def _arguments() -> argparse.Namespace:
    what, _, examples = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m deploy.without_docker",
        description=what,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--file", type=Path, default=_ROOT / "docker-compose.yml", help="the compose file")
    parser.add_argument("--profile", action="append", default=[], help="services of this profile, too; may be repeated")
    parser.add_argument(
        "--use", action="append", default=[], type=_pair, metavar="SERVICE=URL", help="a server that runs already"
    )
    parser.add_argument(
        "--data", type=lambda text: Path(text).resolve(), default=_ROOT / ".without-docker", help="where data are kept"
    )
    return parser.parse_args()


def _pair(text: str) -> tuple[str, str]:
    name, found, url = text.partition("=")
    if not found or "://" not in url:
        raise argparse.ArgumentTypeError(f"{text!r}; expected SERVICE=URL")
    return name, url


if __name__ == "__main__":
    sys.exit(main())
