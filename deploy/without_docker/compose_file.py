"""The part of a compose file that says what runs, in which order and with which settings.

A key that is not known here is an error, so that nothing the file asks for is left out in silence. Keys that say what a
container may do or where its log goes are known, and mean nothing without one.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from deploy.without_docker.errors import ComposeError
from deploy.without_docker.interpolation import interpolated
from dotenv import dotenv_values
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

Condition = Literal["service_started", "service_healthy", "service_completed_successfully"]
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(value: Any) -> Any:
    parts = re.findall(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)", value) if isinstance(value, str) else []
    if not parts or "".join(map("".join, parts)) != value:
        raise ValueError(f"{value!r} is no duration; expected for instance 30s or 1m30s")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _words(value: Any) -> Any:
    return shlex.split(value) if isinstance(value, str) else value


def _split(value: Any) -> Any:
    """`SOURCE:TARGET[:MODE]` or `[HOST:]PUBLISHED:TARGET` as its parts."""
    return tuple(value.split(":")) if isinstance(value, str) else value


def _conditions(value: Any) -> Any:
    return {name: {"condition": "service_started"} for name in value} if isinstance(value, list) else value


def _without_disable(value: Any) -> Any:
    return {"test": ["NONE"]} if value == {"disable": True} else value


Seconds = Annotated[float, BeforeValidator(_seconds)]
Words = Annotated[list[str], BeforeValidator(_words)]
Parts = Annotated[tuple[str, str] | tuple[str, str, str], BeforeValidator(_split)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Build(_Part):
    """The source of an image."""

    context: str
    dockerfile: str


class Wait(_Part):
    """The condition that another service has to fulfil first."""

    condition: Condition


class Health(_Part):
    """The check whether a service can work; times in seconds."""

    test: list[str] = ["NONE"]
    interval: Seconds = 30.0
    timeout: Seconds = 30.0
    retries: int = 3
    start_period: Seconds = 0.0

    @property
    def asks(self) -> bool:
        """Return whether there is a test."""
        return self.test[:1] != ["NONE"]


class Service(_Part):
    """One service of the file, its variables filled in, its paths and addresses still those of a container."""

    image: str
    build: Build | None = None
    command: Words | None = None
    environment: dict[str, str] = Field(default_factory=dict)
    env_file: list[str] = Field(default_factory=list)
    volumes: list[Parts] = Field(default_factory=list)
    ports: list[Parts] = Field(default_factory=list)
    depends_on: Annotated[dict[str, Wait], BeforeValidator(_conditions)] = Field(default_factory=dict)
    healthcheck: Annotated[Health | None, BeforeValidator(_without_disable)] = None
    restart: Annotated[str, Field(pattern=r"^(no|always|unless-stopped|on-failure(:\d+)?)$")] = "no"
    stop_grace_period: Seconds = 10.0
    profiles: list[str] = Field(default_factory=list)

    # Of containers only.
    pull_policy: Any = None
    init: Any = None
    user: Any = None
    hostname: Any = None
    read_only: Any = None
    tmpfs: Any = None
    cap_drop: Any = None
    security_opt: Any = None
    logging: Any = None


class ComposeFile(_Part):
    """The services that are wanted, by name, and the folder that relative paths begin at."""

    folder: Path
    services: dict[str, Service]

    def dockerfile(self, image: str) -> Path:
        """The Dockerfile of an image that one of the services builds; raises `ComposeError` if none does."""
        for service in self.services.values():
            if service.image == image and service.build is not None:
                return self.folder / service.build.context / service.build.dockerfile
        raise ComposeError(f"no service builds the image {image}; one of those that use it has to have a `build`")


def read_compose_file(
    path: Path, profiles: Collection[str] = (), environment: Mapping[str, str] = os.environ
) -> ComposeFile:
    """Read `path`, with the services of `profiles` besides those of none.

    Variables are those of `environment`, then those of a file `.env` beside `path`. Raises `ComposeError` with
    everything that is wrong.
    """
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ComposeError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("services"), dict):
        raise ComposeError(f"{path} has no services; expected a compose file")
    variables = {**_values_of(path.parent / ".env"), **environment}
    services = {}
    for name, given in interpolated(found["services"], variables, "services").items():
        service = _service(name, given)
        if not service.profiles or set(service.profiles) & set(profiles):
            services[name] = service
    _check_waits(services)
    return ComposeFile(folder=path.parent.resolve(), services=services)


def settings_of(service: Service, folder: Path) -> dict[str, str]:
    """Environment variables that the file gives to a service, those of its `env_file`s first."""
    found: dict[str, str] = {}
    for name in service.env_file:
        file = folder / name
        if not file.is_file():
            raise ComposeError(f"env_file {file} does not exist")
        found |= _values_of(file)
    return found | service.environment


def _values_of(file: Path) -> dict[str, str]:
    return {name: value for name, value in dotenv_values(file, interpolate=False).items() if value is not None}


def _service(name: str, given: Any) -> Service:
    try:
        return Service.model_validate(given)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise ComposeError(f"services.{name}: {faults}; this is not done without Docker") from error


def _check_waits(services: Mapping[str, Service]) -> None:
    for name, service in services.items():
        for other, wait in service.depends_on.items():
            if other not in services:
                raise ComposeError(f"services.{name} depends on {other}, which is in no profile that was asked for")
            health = services[other].healthcheck
            if wait.condition == "service_healthy" and not (health and health.asks):
                raise ComposeError(f"services.{name} waits for {other} to be healthy, which has no healthcheck")
