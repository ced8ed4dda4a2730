"""Which program of this machine runs a service: by its image."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.without_docker.compose_file import ComposeFile, Service, settings_of
from deploy.without_docker.errors import ComposeError
from deploy.without_docker.images import read_image
from deploy.without_docker.observability import alertmanager_command, page_answers, prometheus_command
from deploy.without_docker.places import Places
from deploy.without_docker.program import Program
from deploy.without_docker.servers import PostgresProgram, RabbitMQProgram, RedisProgram, ServerProgram

# A container inherits nothing. What is kept here says how to find programs and the internet, not how to behave.
_KEPT = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")
_COMMANDS = {"turnwise": [sys.executable, "-m", "turnwise.cli.main"], "python": [sys.executable]}


@dataclass(frozen=True, kw_only=True)
class Here:
    """One service, and what there is for it on this machine; `data` is a folder for what has no volume."""

    name: str
    file: ComposeFile
    places: Places
    data: Path

    @property
    def service(self) -> Service:
        """Return the service as the file describes it."""
        return self.file.services[self.name]

    def text(self, text: str) -> str:
        """`text` with the addresses and folders of this machine."""
        return self.places.text(self.name, text)

    def folder(self, path: str) -> Path:
        """Return the folder at `path` of the container."""
        return self.places.folder(self.name, path) or self.data


def program_of(here: Here) -> Program:
    """The program; raises `ComposeError` for an image that is not known, or a program that is not installed."""
    image = here.service.image.partition(":")[0]
    if image.startswith("turnwise-"):
        return _own(here)
    make = _PROGRAMS.get(image)
    if make is None:
        raise ComposeError(
            f"services.{here.name}: nothing on this machine runs the image {image}; "
            f"name a server that does with --use {here.name}=URL"
        )
    return make(here)


def _own(here: Here) -> Program:
    service = here.service
    image = read_image(here.file.dockerfile(service.image))
    given = {**image.environment, **settings_of(service, here.file.folder)}
    environment = {**_kept(), **{name: here.text(value) for name, value in given.items()}}
    words = [*image.entrypoint, *(image.command if service.command is None else service.command)]
    folder = here.folder(image.folder)
    return Program(
        command=_found([here.text(word) for word in words]),
        environment=environment,
        folder=folder,
        answers=_test(here, environment, folder),
    )


def _test(here: Here, environment: Mapping[str, str], folder: Path) -> Callable[[], bool] | None:
    health = here.service.healthcheck
    if health is None or not health.asks:
        return None
    kind, *words = health.test
    if kind not in ("CMD", "CMD-SHELL"):
        raise ComposeError(f"services.{here.name}: a test is {kind}; expected CMD or CMD-SHELL")
    found = [here.text(word) for word in words]
    command = ["sh", "-c", *found] if kind == "CMD-SHELL" else _found(found)

    def passes() -> bool:
        try:
            done = subprocess.run(
                command, env=environment, cwd=folder, capture_output=True, timeout=health.timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    return passes


def _postgres(here: Here) -> Program:
    given = settings_of(here.service, here.file.folder)
    owner = given.get("POSTGRES_USER", "postgres")
    return _server(
        PostgresProgram(
            here.folder("/var/lib/postgresql/data"),
            here.places.port(here.name, 5432),
            owner=owner,
            password=given.get("POSTGRES_PASSWORD", ""),
            database=given.get("POSTGRES_DB", owner),
            options=_options(here),
        )
    )


def _rabbitmq(here: Here) -> Program:
    given = settings_of(here.service, here.file.folder)
    return _server(
        RabbitMQProgram(
            here.folder("/var/lib/rabbitmq"),
            here.places.port(here.name, 5672),
            login=given.get("RABBITMQ_DEFAULT_USER", "guest"),
            password=given.get("RABBITMQ_DEFAULT_PASS", "guest"),
        )
    )


def _redis(here: Here) -> Program:
    return _server(RedisProgram(here.data, here.places.port(here.name, 6379), options=_options(here)))


def _options(here: Here) -> list[str]:
    """The arguments of an image's own program."""
    return [here.text(word) for word in (here.service.command or [])[1:]]


def _server(server: ServerProgram) -> Program:
    command, environment = server.command()
    return Program(
        command=command,
        environment=environment,
        folder=server.folder,
        user=server.user,
        stop_signal=server.stop_signal,
        answers=server.answers,
        clean_up=server.clean_up,
    )


def _prometheus(here: Here) -> Program:
    return _watching(
        here, prometheus_command([here.text(word) for word in here.service.command or []], here.text, here.data)
    )


def _alertmanager(here: Here) -> Program:
    return _watching(here, alertmanager_command([here.text(word) for word in here.service.command or []]))


def _watching(here: Here, command: list[str]) -> Program:
    health = here.service.healthcheck
    test = [here.text(word) for word in health.test] if health else []
    return Program(command=command, environment=_kept(), folder=here.data, answers=page_answers(test))


_PROGRAMS: Mapping[str, Callable[[Here], Program]] = {
    "postgres": _postgres,
    "rabbitmq": _rabbitmq,
    "redis": _redis,
    "prom/prometheus": _prometheus,
    "prom/alertmanager": _alertmanager,
}


def _kept() -> dict[str, str]:
    names = (*_KEPT, *_PROXIES, *map(str.upper, _PROXIES))
    return {name: os.environ[name] for name in names if name in os.environ}


def _found(words: list[str]) -> list[str]:
    """A command with this environment's Python for that of the image."""
    return [*_COMMANDS.get(words[0], words[:1]), *words[1:]]
