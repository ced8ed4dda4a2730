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
from dockerfile_parse import DockerfileParser
from tests.support.docker_engine import REFUSED, DockerEngine
from tests.support.monitoring import promtool
from tests.support.services import require

from turnwise.processes.settings import ServiceSettings, load_settings

ROOT = Path(__file__).parents[3]
FILE = ROOT / "docker-compose.yml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
ONCE = "migrate"
PROCESSES = [ONCE, "gateway", "coordinator", "worker-llm", "worker-agent"]
WORKERS = ["worker-llm", "worker-agent"]
OURS = [*PROCESSES, "fake-llm"]
PROFILES = {
    "redis": ["redis"],
    "observability": ["alertmanager", "grafana", "prometheus"],
    "scripted": ["fake-llm"],
}
# What PostgreSQL keeps for superusers, so that an operator gets in when all else is taken.
RESERVED = 3
# What none of the services may write to is all but this.
WRITING = ["rabbitmq"]


def from_dockerfile(name: str) -> DockerfileParser:
    """The Dockerfile of one of our services."""
    (build,) = (
        service["build"]
        for service in SERVICES.values()
        if service["image"] == SERVICES[name]["image"] and "build" in service
    )
    return DockerfileParser(path=str(ROOT / build["context"] / build["dockerfile"]))


def duration(text: str) -> float:
    """The seconds of a duration such as 30s or 1m30s."""
    units = {"m": 60.0, "s": 1.0, "ms": 0.001}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)(ms|m|s)", text))


def test_the_file_has_every_process_of_the_distributed_set() -> None:
    optional = {name for names in PROFILES.values() for name in names}

    assert {"postgres", "rabbitmq", *OURS} | optional == set(SERVICES)


def test_only_what_an_installation_can_do_without_is_in_a_profile() -> None:
    found: dict[str, list[str]] = {}
    for name, service in sorted(SERVICES.items()):
        for profile in service.get("profiles", []):
            found.setdefault(profile, []).append(name)

    assert found == PROFILES


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {ONCE}))
def test_a_service_that_stays_up_has_a_health_check(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_an_image_is_pinned_to_a_version(name: str) -> None:
    assert re.fullmatch(r"[a-z/-]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)*", SERVICES[name]["image"])


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_port_is_published_on_loopback_only(name: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_can_not_become_root_nor_fill_the_disk(name: str) -> None:
    service = SERVICES[name]

    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert set(service["logging"]["options"]) == {"max-size", "max-file"}
    assert service["read_only"] is (name not in WRITING)


@pytest.mark.parametrize("name", OURS)
def test_our_processes_get_their_signals_and_settings(name: str) -> None:
    service = SERVICES[name]

    assert service["init"] is True
    assert service["tmpfs"] == ["/tmp:size=64m,mode=1777"]
    assert service["env_file"] == ["${TURNWISE_ENV_FILE:-./deploy/compose/settings.env}"]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_what_a_service_waits_for_is_there_and_says_when_it_is_ready(name: str) -> None:
    for other, wait in SERVICES[name].get("depends_on", {}).items():
        expected = "service_completed_successfully" if other == ONCE else "service_healthy"
        assert other in SERVICES
        assert wait == {"condition": expected}
        assert set(SERVICES[other].get("profiles", [])) <= set(SERVICES[name].get("profiles", []))


def configured(tmp_path: Path, **variables: str) -> dict[str, dict[str, Any]]:
    """The services as docker-compose reads them with these variables; those of profiles are among them."""
    program = shutil.which("docker-compose")
    require(program, "no docker-compose on the path; install it (Debian: apt-get install docker-compose)")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TURNWISE_AUTH_TOKEN": "token", **variables}
    done = subprocess.run(
        [str(program), "-f", str(FILE), "config"], env=environment, capture_output=True, text=True, check=True
    )
    services: dict[str, dict[str, Any]] = yaml.safe_load(done.stdout)["services"]
    return services


def test_every_process_takes_the_settings_of_the_file_also_those_that_only_the_gateway_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.env"
    file.write_text("TURNWISE_OIDC_ISSUER=https://login.example.com/realms/main\nTURNWISE_OIDC_AUDIENCE=turnwise\n")
    services = configured(tmp_path, TURNWISE_AUTH="keys", TURNWISE_ENV_FILE=str(file))
    monkeypatch.chdir(tmp_path)

    for name in PROCESSES:
        with monkeypatch.context() as patch:
            for variable, value in services[name]["environment"].items():
                patch.setenv(variable, str(value))
            patch.delenv("TURNWISE_SECRETS_DIR")  # the folder is there in the container only
            settings = load_settings()
        assert settings.oidc_audience == "turnwise"
        if name == "gateway":
            settings.check_issuer()


@pytest.mark.parametrize("drain", [ServiceSettings().drain_seconds, 1800.0, 0.5])
def test_a_process_has_longer_to_end_than_what_it_does_may_take(tmp_path: Path, drain: float) -> None:
    from turnwise_gateway.server import _GRACE

    given = {} if drain == ServiceSettings().drain_seconds else {"TURNWISE_DRAIN_SECONDS": f"{drain:g}"}
    services = configured(tmp_path, **given)

    assert duration(services["gateway"]["stop_grace_period"]) > _GRACE
    for name in WORKERS:
        assert float(services[name]["environment"]["TURNWISE_DRAIN_SECONDS"]) == drain
        assert duration(services[name]["stop_grace_period"]) == drain + 60


def test_postgresql_has_a_connection_for_every_one_that_our_processes_may_open(tmp_path: Path) -> None:
    services = configured(tmp_path)
    fits = int(services["postgres"]["command"][-1].removeprefix("max_connections=")) - RESERVED

    needed = {name: connections(services[name]) for name in PROCESSES}

    assert needed["gateway"] == ServiceSettings().database_connections + 1  # the compose file says what the code does
    assert sum(needed.values()) <= fits
    assert f"Room for {fits // needed['gateway']} processes" in FILE.read_text()


def connections(service: dict[str, Any]) -> int:
    """The most that one process of a service holds: the pool, and one for the heartbeat."""
    return int(service["environment"]["TURNWISE_DATABASE_CONNECTIONS"]) + 1


def test_the_pages_name_the_connections_that_there_are() -> None:
    a_process = ServiceSettings().database_connections + 1

    for page in ("compose", "kubernetes"):
        text = (ROOT / "docs" / f"{page}.md").read_text()
        assert f"up to {a_process} connections" in text, page
        assert "40 connections" not in text


@pytest.mark.parametrize("variables", [{}, {"OPENAI_BASE_URL": "https://llm.example.com/v1", "OPENAI_API_KEY": "key"}])
def test_nothing_waits_for_the_scripted_model_and_a_real_one_takes_its_place(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    services = configured(tmp_path, **variables)

    for name in PROCESSES:
        assert "fake-llm" not in services[name]["depends_on"]
        found = services[name]["environment"]
        assert found["OPENAI_BASE_URL"] == variables.get("OPENAI_BASE_URL", "http://fake-llm:8090/v1")
    assert services.get("fake-llm", {"profiles": ["scripted"]})["profiles"] == ["scripted"]


@pytest.mark.parametrize("options", [[], ["--build"]], ids=["up", "up --build"])
@pytest.mark.parametrize("profiles", [[], ["scripted"]], ids=["real", "scripted"])
def test_docker_compose_builds_our_images_and_pulls_none_of_them(
    tmp_path: Path, options: list[str], profiles: list[str]
) -> None:
    program = shutil.which("docker-compose")
    require(program, "no docker-compose on the path; install it (Debian: apt-get install docker-compose)")
    with DockerEngine() as engine:
        done = subprocess.run(
            [str(program), "-f", str(FILE), "-p", "turnwise", "up", "--no-start", *options],
            env={
                **{"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TURNWISE_AUTH_TOKEN": "token"},
                **{"DOCKER_HOST": engine.address, "COMPOSE_DOCKER_CLI_BUILD": "0"},
                "COMPOSE_PROFILES": ",".join(profiles),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    wanted = {SERVICES[name]["image"] for name in [*PROCESSES, *(["fake-llm"] if profiles else [])]}
    assert REFUSED in done.stderr  # all images were there, and containers were next
    assert set(engine.built) == wanted
    assert engine.pulled == [SERVICES[name]["image"] for name in ("postgres", "rabbitmq")]


def test_no_two_services_build_the_same_tag_which_fails_where_they_build_at_the_same_time() -> None:
    tags = [service["image"] for service in SERVICES.values() if "build" in service]

    assert sorted(tags) == sorted(set(tags)) == sorted(SERVICES[name]["image"] for name in OURS)


@pytest.mark.parametrize("name", PROCESSES)
def test_a_setting_given_to_a_process_is_one_that_it_reads(name: str) -> None:
    # The last one says where files are that hold settings.
    others = {"TURNWISE_DEMO_DIR", "TURNWISE_DEMO_MODEL", "TURNWISE_SECRETS_DIR"}
    known = {f"TURNWISE_{field.upper()}" for field in ServiceSettings.model_fields} | others

    given = {key for key in SERVICES[name]["environment"] if key.startswith("TURNWISE_")}

    assert given <= known


def test_the_template_of_settings_changes_nothing_and_names_real_ones() -> None:
    lines = (ROOT / "deploy" / "compose" / "settings.env").read_text().splitlines()
    known = {f"TURNWISE_{field.upper()}" for field in ServiceSettings.model_fields}

    named = {match[1] for line in lines if (match := re.match(r"# ([A-Z_]+)=", line))}

    assert all(line.startswith("#") for line in lines)
    assert named and named <= known


def test_secrets_are_read_from_a_folder_whose_files_git_ignores() -> None:
    folder = ROOT / "deploy" / "compose" / "secrets"

    mounts = [mount for name in PROCESSES for mount in SERVICES[name]["volumes"] if "secrets" in mount]
    where = {SERVICES[name]["environment"]["TURNWISE_SECRETS_DIR"] for name in PROCESSES}

    assert mounts == [f"${{TURNWISE_SECRETS_DIR:-./{folder.relative_to(ROOT)}}}:{where.pop()}:ro"] * len(PROCESSES)
    assert not where
    assert "*" in (folder / ".gitignore").read_text().splitlines()


def test_the_gateway_asks_for_a_token_that_only_the_operator_can_set() -> None:
    environment = SERVICES["gateway"]["environment"]

    assert environment["TURNWISE_AUTH"] == "${TURNWISE_AUTH:-token}"
    assert environment["TURNWISE_AUTH_TOKEN"].startswith("${TURNWISE_AUTH_TOKEN:?")
    assert SERVICES["grafana"]["environment"]["GF_SECURITY_ADMIN_PASSWORD"] == environment["TURNWISE_AUTH_TOKEN"]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_build_names_a_dockerfile_that_exists(name: str) -> None:
    if build := SERVICES[name].get("build"):
        assert (ROOT / build["context"] / build["dockerfile"]).is_file()


def test_prometheus_scrapes_every_process_where_it_listens() -> None:
    config = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
    targets = {
        (name, found["port"])
        for job in config["scrape_configs"]
        for found in job.get("dns_sd_configs", [])
        for name in found["names"]
    }

    listening = {
        (name, int(line["value"]))
        for name in PROCESSES
        if name != ONCE
        for line in from_dockerfile(name).structure
        if line["instruction"] == "EXPOSE"
    }

    assert targets == listening | {("rabbitmq", 15692)}


def test_prometheus_accepts_its_configuration_with_all_rules() -> None:
    done = promtool("check", "config", ROOT / "deploy" / "prometheus" / "prometheus.yml")

    assert done.returncode == 0, done.stderr


def test_grafana_finds_prometheus_and_the_folder_of_dashboards() -> None:
    provisioning = ROOT / "deploy" / "grafana" / "provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yml").read_text())["datasources"]
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "turnwise.yml").read_text())["providers"]

    assert source["url"] == "http://prometheus:9090"
    assert f"./deploy/grafana/dashboards:{provider['options']['path']}:ro" in SERVICES["grafana"]["volumes"]


@pytest.mark.parametrize("token", ["", "a-long-random-string"])
def test_compose_accepts_the_file_only_with_a_token(token: str) -> None:
    program = shutil.which("docker-compose")
    require(program, "no docker-compose on the path; install it (Debian: apt-get install docker-compose)")
    profiles = ",".join(PROFILES)

    done = subprocess.run(
        [str(program), "-f", str(FILE), "config", "-q"],
        env={"PATH": os.environ["PATH"], "TURNWISE_AUTH_TOKEN": token, "COMPOSE_PROFILES": profiles},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode == 0) is bool(token), done.stderr
    assert token or "set it to a long random string" in done.stderr
