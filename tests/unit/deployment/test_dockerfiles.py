"""Each image holds its own service only, runs without root and stops when it is told to."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import pytest
from dockerfile_parse import DockerfileParser

ROOT = Path(__file__).parents[3]
SERVICES = {
    "gateway": ("turnwise_gateway", ["gateway"]),
    "coordinator": ("turnwise_coordinator", ["coordinator"]),
    "responders": ("turnwise_responders", ["worker", "-Q", "llm,agent"]),
}


@pytest.fixture(params=sorted(SERVICES))
def service(request: pytest.FixtureRequest) -> str:
    """The folder's name of one service."""
    return str(request.param)


def file_of(service: str) -> Path:
    """Return the path of a service's Dockerfile."""
    return ROOT / "services" / service / "Dockerfile"


def arguments(service: str, name: str) -> list[str]:
    """The arguments of every instruction `name`, in order."""
    structure = DockerfileParser(path=str(file_of(service))).structure
    return [line["value"] for line in structure if line["instruction"] == name]


def copied(service: str) -> list[list[str]]:
    """Return the paths that each COPY takes out of the repository."""
    return [line.split()[:-1] for line in arguments(service, "COPY") if "--from" not in line]


def test_a_linter_has_nothing_to_say() -> None:
    program = shutil.which("hadolint", path=sysconfig.get_path("scripts"))
    assert program, "hadolint is not installed: pip install -c constraints.txt -e '.[dev]'"

    done = subprocess.run([program, *map(file_of, SERVICES)], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_both_stages_start_from_the_same_pinned_image(service: str) -> None:
    first, second = (line.split()[0] for line in arguments(service, "FROM"))

    assert first == second
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", first)


def test_only_the_library_and_the_services_own_package_are_copied(service: str) -> None:
    package, _ = SERVICES[service]

    sources = {source for line in copied(service) for source in line}

    assert sources == {
        *("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "shared"),
        f"services/{service}/{package}",
    }
    assert all((ROOT / source).exists() for source in sources)


def test_what_is_copied_is_not_kept_from_the_build(service: str) -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()

    assert "*" in ignored
    assert {f"!{Path(source).parts[0]}" for line in copied(service) for source in line} <= set(ignored)


def test_a_change_of_the_code_installs_nothing_from_elsewhere(service: str) -> None:
    dependencies, own = arguments(service, "RUN")[:2]

    assert not any("shared" in line for line in copied(service)[:1])
    assert f'turnwise-*.whl)[{service},otel]"' in dependencies
    assert "-c constraints.txt" in dependencies
    assert "--no-deps" in own


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


def test_the_image_says_what_it_is(service: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    labels = DockerfileParser(path=str(file_of(service))).labels

    told = {name.removeprefix("org.opencontainers.image."): value for name, value in labels.items()}
    assert set(told) == {"title", "description", "version", "licenses", "source"}
    assert (told["version"], told["licenses"]) == (project["version"], project["license"])
    assert project["urls"]["Documentation"].startswith(told["source"])
