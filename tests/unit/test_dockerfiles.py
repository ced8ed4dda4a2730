"""Each image holds its own service only, runs without root and stops when it is told to."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVICES = {
    "gateway": ("turnwise_gateway", ["gateway"]),
    "coordinator": ("turnwise_coordinator", ["coordinator"]),
    "responders": ("turnwise_responders", ["worker", "-Q", "llm,agent"]),
}


@pytest.fixture(params=sorted(SERVICES))
def service(request: pytest.FixtureRequest) -> str:
    """The folder's name of one service."""
    return str(request.param)


def instructions(service: str) -> list[tuple[str, str]]:
    """Name and arguments of each instruction, continued lines joined, comments left out."""
    text = (ROOT / "services" / service / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def arguments(service: str, name: str) -> list[str]:
    """The arguments of every instruction `name`, in order."""
    return [rest for instruction, rest in instructions(service) if instruction == name]


def test_both_stages_start_from_the_same_pinned_image(service: str) -> None:
    images = {image.split()[0] for image in arguments(service, "FROM")}

    assert len(images) == 1
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", images.pop())


def test_only_the_library_and_the_services_own_package_are_copied(service: str) -> None:
    package, _ = SERVICES[service]

    copied = {source for line in arguments(service, "COPY") for source in line.split()[:-1] if "--from" not in line}

    assert copied == {
        *("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "shared"),
        f"services/{service}/{package}",
    }
    assert all((ROOT / source).exists() for source in copied)


def test_only_the_services_own_extra_is_installed_and_versions_are_pinned(service: str) -> None:
    build = " ".join(arguments(service, "RUN"))

    assert f'turnwise-*.whl)[{service}]"' in build
    assert "-c constraints.txt" in build


def test_the_process_runs_without_root(service: str) -> None:
    (user,) = arguments(service, "USER")

    assert int(user) > 0


def test_the_process_gets_its_signals_and_starts_its_service(service: str) -> None:
    (entrypoint,), (command,) = arguments(service, "ENTRYPOINT"), arguments(service, "CMD")

    assert json.loads(entrypoint) == ["turnwise"]
    assert json.loads(command) == SERVICES[service][1]


def test_the_health_check_asks_the_port_that_is_exposed(service: str) -> None:
    (check,), (port,) = arguments(service, "HEALTHCHECK"), arguments(service, "EXPOSE")

    assert f"http://127.0.0.1:{port}/health/live" in check
