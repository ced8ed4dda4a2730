"""A project that `turnwise init` has made passes its own tests, serves its task, and can be put into containers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.processes import Process, environment, free_port
from tests.support.cli import Terminal, terminal
from tests.support.services import require

from turnwise.cli.project.name import ProjectName
from turnwise.cli.project.template import IMAGES, project_files
from turnwise.cli.project.writing import write_project
from turnwise.client import Client
from turnwise.errors import ProjectError

__all__ = ["terminal"]

ROOT = Path(__file__).parents[2]
NAME = ProjectName("order-desk")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project's folder; no test writes into it."""
    folder = tmp_path_factory.mktemp("projects")
    write_project(NAME, folder)
    return folder / NAME.project


def python(project: Path, *arguments: str) -> str:
    """Run this environment's Python in the project, and return its output; fails the test if it does."""
    variables = environment() | {"OPENAI_API_KEY": "", "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=project, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def program(name: str) -> str:
    found = shutil.which(name, path=sysconfig.get_path("scripts"))
    assert found, f"{name} is not installed: pip install -c constraints.txt -e '.[dev]'"
    return found


def composed(project: Path, **variables: str) -> dict[str, Any]:
    """The compose file's services as docker-compose reads them."""
    found = shutil.which("docker-compose")
    require(found, "no docker-compose on the path; install it (Debian: apt-get install docker-compose)")
    given = {"PATH": os.environ["PATH"], "HOME": str(project), "TURNWISE_AUTH_TOKEN": "token", **variables}
    done = subprocess.run([str(found), "config"], cwd=project, env=given, capture_output=True, text=True, check=True)
    services: dict[str, Any] = yaml.safe_load(done.stdout)["services"]
    return services


def test_its_own_tests_pass(project: Path) -> None:
    assert re.search(r"\b5 passed\b", python(project, "-m", "pytest", "-q", "-p", "no:cacheprovider"))


def test_its_task_runs_as_a_script(project: Path) -> None:
    assert python(project, "-m", NAME.package, "Where is 1008?") == "Order 1008 waits for its payment.\n"


@pytest.mark.parametrize("name", ["order-desk", "zoo", "a" * 32])
def test_its_code_is_formatted_and_a_linter_has_nothing_to_say(name: str, tmp_path: Path) -> None:
    write_project(ProjectName(name), tmp_path)

    for arguments in (["format", "--check"], ["check"]):
        done = subprocess.run(
            [program("ruff"), *arguments, "--no-cache", "."], cwd=tmp_path / name, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stdout.decode()


def test_a_server_answers_with_its_task_and_keeps_the_run(project: Path, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{(port := free_port())}"
    settings = {"bind": f"127.0.0.1:{port}", "database_url": f"sqlite:///{tmp_path}/runs.db"}
    variables = environment(**settings) | {"OPENAI_API_KEY": "", "PYTHONPATH": str(project)}
    served = Process(["up", "--app", f"{NAME.package}.app:app"], variables, url, tmp_path / "up.log")
    try:
        served.wait_ready()
        with Client(url) as client:
            run = client.submit("answer", "Where is order 1007?", wait=60)
    finally:
        served.stop()

    assert run.result is not None
    assert (run.status, run.result.content) == ("completed", "Order 1007 left our house on Monday.")


def test_its_image_runs_without_root_and_a_linter_has_nothing_to_say(project: Path) -> None:
    done = subprocess.run([program("hadolint"), project / "Dockerfile"], capture_output=True, text=True, check=False)

    text = (project / "Dockerfile").read_text()
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert re.search(r"^USER 10001$", text, flags=re.MULTILINE)
    assert f"TURNWISE_APP={NAME.package}.app:app" in text
    for source in re.findall(r"^!(.+)$", (project / ".dockerignore").read_text(), flags=re.MULTILINE):
        assert (project / source).exists() or source == "wheels"


def test_its_compose_file_starts_each_service_with_its_command(project: Path) -> None:
    services = composed(project, OPENAI_API_KEY="sk-1", ORDER_DESK_MODEL="gpt-5")

    ours = {name: service for name, service in services.items() if "build" in service}
    assert {name: service["command"] for name, service in ours.items()} == {
        name: [name] for name in ("migrate", "gateway", "coordinator", "worker")
    }
    for service in ours.values():
        assert service["environment"]["OPENAI_API_KEY"] == "sk-1"
        assert service["environment"]["ORDER_DESK_MODEL"] == "gpt-5"
    for service in services.values():
        assert service["cap_drop"] == ["ALL"]
        assert all("127.0.0.1:" in str(port) for port in service.get("ports", []))


def test_its_images_are_those_of_this_repository() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]

    assert {
        "python_image": re.findall(r"^FROM (\S+)", (ROOT / "services/gateway/Dockerfile").read_text(), re.MULTILINE)[0],
        "postgres_image": compose["postgres"]["image"],
        "rabbitmq_image": compose["rabbitmq"]["image"],
    } == IMAGES


def test_its_ci_installs_checks_and_tests(project: Path) -> None:
    jobs = yaml.safe_load((project / ".github/workflows/check.yml").read_text())["jobs"]

    commands = [step["run"] for step in jobs["check"]["steps"] if "run" in step]
    assert [line.split()[0] for line in commands] == ["pip", "ruff", "ruff", "pytest", "docker"]


def test_the_command_says_how_to_begin(terminal: Terminal) -> None:
    said = terminal.run("init", "shop")

    assert "turnwise up --app shop.app:app" in said
    assert {f"shop/{path}" for path, _ in project_files(ProjectName("shop"))} <= set(said.split())
    assert [path.name for path in terminal.folder.iterdir()] == ["shop"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Order Desk", "lower-case letters"),
        ("1st", "the first a letter"),
        ("a--b", "single"),
        ("../up", "lower-case letters"),
        ("a" * 33, "up to 32"),
        ("class", "a word of Python"),
        ("tests", "a folder that each project has"),
        ("dist", "a folder that a project's .gitignore leaves out"),
        ("json", "would hide Python's own module"),
        ("turnwise", "would hide the package of that name"),
        ("sqlite-vec", "would hide the package of that name"),
        ("mkdocs-material", "would hide a package that Turnwise, or the project itself, uses"),
        ("hatchling", "would hide a package that Turnwise, or the project itself, uses"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused_and_nothing_written(terminal: Terminal, name: str, said: str) -> None:
    assert said in terminal.refused("init", name)
    assert list(terminal.folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "folder", "lost link"])
def test_nothing_is_written_over(terminal: Terminal, kind: str) -> None:
    target = terminal.folder / "shop"
    if kind == "lost link":
        target.symlink_to("nowhere")
    elif kind == "folder":
        target.mkdir()
    else:
        target.touch()

    assert "exists; nothing was written" in terminal.refused("init", "shop")
    assert [path.name for path in terminal.folder.iterdir()] == ["shop"]


def test_nothing_is_left_of_a_project_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_text

    def until_the_disk_is_full(path: Path, *arguments: Any, **options: Any) -> int:
        if path.name == "tools.py":
            raise OSError(28, "No space left on device")
        return write(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", until_the_disk_is_full)
    with pytest.raises(ProjectError, match="No space left on device; nothing is left of it"):
        write_project(NAME, tmp_path)

    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ProjectError, match="no folder can be made"):
        write_project(NAME, tmp_path / "missing")
