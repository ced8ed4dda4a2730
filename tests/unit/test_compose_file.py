"""The compose file is valid, watches every service and opens nothing to the network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from turnwise.service_settings import ServiceSettings

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ["migrate", "gateway", "coordinator", "worker-llm", "worker-agent"]


def test_the_file_has_every_process_of_the_distributed_set() -> None:
    assert {"postgres", "rabbitmq", "redis", "fake-llm", *OURS} == set(SERVICES)


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"migrate"}))
def test_a_service_that_stays_up_has_a_health_check(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_an_image_is_pinned_to_a_version(name: str) -> None:
    assert re.fullmatch(r"[a-z-]+:\d+\.\d+(\.\d+)?(-[a-z]+)*", SERVICES[name]["image"])


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_port_is_published_on_loopback_only(name: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_what_a_service_waits_for_is_there_and_says_when_it_is_ready(name: str) -> None:
    for other, wait in SERVICES[name].get("depends_on", {}).items():
        expected = "service_completed_successfully" if other == "migrate" else "service_healthy"
        assert other in SERVICES
        assert wait == {"condition": expected}


@pytest.mark.parametrize("name", OURS)
def test_a_setting_given_to_a_process_is_one_that_it_reads(name: str) -> None:
    demo = {"TURNWISE_DEMO_DIR", "TURNWISE_DEMO_MODEL"}
    known = {f"TURNWISE_{field.upper()}" for field in ServiceSettings.model_fields} | demo

    given = {key for key in SERVICES[name]["environment"] if key.startswith("TURNWISE_")}

    assert given <= known


def test_the_scripted_model_is_in_the_image_where_the_command_looks_for_it() -> None:
    script = SERVICES["fake-llm"]["command"][1]
    gateway = (ROOT / "services" / "gateway" / "Dockerfile").read_text()

    packages, _, path = script.partition("/site-packages/")

    assert (ROOT / "shared" / path).is_file()
    assert packages.startswith("/opt/turnwise/lib/python3.11")
    assert "FROM python:3.11." in gateway


def test_the_gateway_asks_for_a_token_that_only_the_operator_can_set() -> None:
    environment = SERVICES["gateway"]["environment"]

    assert environment["TURNWISE_AUTH"] == "token"
    assert environment["TURNWISE_AUTH_TOKEN"].startswith("${TURNWISE_AUTH_TOKEN:?")


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_build_names_a_dockerfile_that_exists(name: str) -> None:
    if build := SERVICES[name].get("build"):
        assert (ROOT / build["context"] / build["dockerfile"]).is_file()


@pytest.mark.parametrize("token", ["", "a-long-random-string"])
def test_compose_accepts_the_file_only_with_a_token(token: str) -> None:
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("no docker-compose on the path: the file is checked by its structure alone")

    done = subprocess.run(
        [program, "-f", str(FILE), "config", "-q"],
        env={"PATH": os.environ["PATH"], "TURNWISE_AUTH_TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode == 0) is bool(token), done.stderr
    assert token or "set it to a long random string" in done.stderr
