"""What runs without Docker is what the compose file says, in its order, and ends as it says."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from deploy.without_docker.compose_file import Health, Service, Wait, read_compose_file, settings_of
from deploy.without_docker.errors import ComposeError
from deploy.without_docker.fleet import Fleet
from deploy.without_docker.interpolation import interpolated
from deploy.without_docker.observability import prometheus_command
from deploy.without_docker.places import Places
from deploy.without_docker.program import Program
from deploy.without_docker.programs import Here, program_of
from tests.e2e.waiting import until
from tests.support.services import require

ROOT = Path(__file__).parents[3]
FILE = ROOT / "docker-compose.yml"
PROFILES = ["redis", "observability", "scripted"]
TOKEN = {"TURNWISE_AUTH_TOKEN": "a-long-random-string"}


def here(name: str, tmp_path: Path, *, used: Mapping[str, str] | None = None, **variables: str) -> Here:
    """A service of the real file, with volumes below `tmp_path`."""
    file = read_compose_file(FILE, PROFILES, {**TOKEN, **variables})
    return Here(name=name, file=file, places=Places(file, tmp_path / "volumes", used), data=tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$A-${A}-$$A", "a-a-$A"),
        ("${B:-b}${B-b}", "b"),
        ("${NONE:-c}${NONE-d}", "cd"),
        ("${NONE}", ""),
        ("${A:?not told}", "a"),
    ],
)
def test_a_variable_is_filled_in_as_compose_does(text: str, expected: str) -> None:
    assert interpolated({"key": [text]}, {"A": "a", "B": ""}, "file") == {"key": [expected]}


@pytest.mark.parametrize(
    ("text", "told"), [("${B:?give it}", "file: B is not set: give it"), ("5 $", "begin a variable")]
)
def test_a_variable_that_can_not_be_filled_in_is_told(text: str, told: str) -> None:
    with pytest.raises(ComposeError, match=told):
        interpolated(text, {"B": ""}, "file")


def test_a_file_beside_the_compose_file_gives_variables_that_the_shell_does_not(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TAG=1.0\nNAME=file\n")
    (tmp_path / "compose.yml").write_text("services: {one: {image: '${NAME}:${TAG}'}}")

    file = read_compose_file(tmp_path / "compose.yml", environment={"NAME": "shell"})

    assert file.services["one"].image == "shell:1.0"


@pytest.mark.parametrize(
    ("service", "told"),
    [
        ("{image: a, networks: [b]}", r"services\.one: networks: .*not done without Docker"),
        ("{image: a, stop_grace_period: soon}", "'soon' is no duration; expected for instance 30s"),
        ("{image: a, depends_on: [two]}", "depends on two, which is in no profile"),
        ("{image: a, env_file: [none.env]}", r"env_file .*none\.env does not exist"),
    ],
)
def test_what_a_file_asks_for_and_does_not_get_is_told(tmp_path: Path, service: str, told: str) -> None:
    path = tmp_path / "compose.yml"
    path.write_text(f"services: {{one: {service}}}")

    with pytest.raises(ComposeError, match=told):
        settings_of(read_compose_file(path).services["one"], tmp_path)


def test_the_file_is_read_as_docker_compose_reads_it() -> None:
    program = shutil.which("docker-compose")
    require(program, "no docker-compose on the path; install it (Debian: apt-get install docker-compose)")
    variables = {**TOKEN, "TURNWISE_PORT": "8181", "OPENAI_API_KEY": "", "TURNWISE_LOG_LEVEL": "DEBUG"}
    environment = {"PATH": os.environ["PATH"], "COMPOSE_PROFILES": ",".join(PROFILES), **variables}
    done = subprocess.run(
        [str(program), "-f", str(FILE), "config"], env=environment, capture_output=True, text=True, check=True
    )

    ours = read_compose_file(FILE, PROFILES, variables)

    theirs = yaml.safe_load(done.stdout)["services"]
    assert set(ours.services) == set(theirs)
    for name, service in ours.services.items():
        told = theirs[name]
        assert settings_of(service, ours.folder) == told.get("environment", {})
        assert [f"{':'.join(port)}/tcp" for port in service.ports] == told.get("ports", [])
        assert alike(Service.model_validate(told | {"ports": [], "volumes": [], "build": None})) == alike(service)


def alike(service: Service) -> dict[str, Any]:
    """Return what docker-compose leaves as it is, but for defaults and the forms of durations."""
    return service.model_dump(exclude={"ports", "volumes", "environment", "env_file", "build"})


def test_a_process_gets_its_settings_with_the_addresses_and_folders_of_this_machine(tmp_path: Path) -> None:
    given = here("worker-llm", tmp_path, TURNWISE_LOG_LEVEL="DEBUG")
    ports = {name: given.places.port(name, port) for name, port in {"postgres": 5432, "rabbitmq": 5672}.items()}

    program = program_of(given)

    env = program.environment
    assert program.command == [sys.executable, "-m", "turnwise.cli.main", "worker", "-Q", "llm"]
    assert program.folder == ROOT / "examples"
    assert env["TURNWISE_DATABASE_URL"] == f"postgresql://turnwise:turnwise@127.0.0.1:{ports['postgres']}/turnwise"
    assert env["TURNWISE_BROKER_URL"] == f"amqp://turnwise:turnwise@127.0.0.1:{ports['rabbitmq']}//"
    assert env["TURNWISE_DEMO_DIR"] == str(tmp_path / "volumes" / "demo")
    assert env["TURNWISE_SECRETS_DIR"] == str(ROOT / "deploy" / "compose" / "secrets")
    assert env["TURNWISE_METRICS_BIND"] == f"127.0.0.1:{given.places.port('worker-llm', 9090)}"
    assert (env["TURNWISE_LOG_FORMAT"], env["TURNWISE_LOG_LEVEL"]) == ("json", "DEBUG")
    assert "TURNWISE_AUTH_TOKEN" not in env


def test_services_share_no_port_and_the_published_one_is_as_published(tmp_path: Path) -> None:
    places = here("gateway", tmp_path, TURNWISE_PORT="8181").places

    assert places.text("gateway", "0.0.0.0:8080") == "127.0.0.1:8181"
    assert len({places.text(name, "0.0.0.0:9090") for name in ("coordinator", "worker-llm", "worker-agent")}) == 3
    assert places.text("coordinator", "http://127.0.0.1:9090/health/live") == (
        f"http://127.0.0.1:{places.port('coordinator', 9090)}/health/live"
    )


def test_a_server_that_runs_already_stands_in_for_a_service(tmp_path: Path) -> None:
    used = {"rabbitmq": "redis://redis:6379/0", "postgres": "postgresql://me@127.0.0.1:5432/mine"}

    places = here("gateway", tmp_path, used=used).places

    redis = f"redis://127.0.0.1:{places.port('redis', 6379)}/0"
    assert places.text("gateway", "amqp://turnwise:turnwise@rabbitmq:5672//") == redis
    assert places.text("gateway", "postgresql://turnwise:turnwise@postgres:5432/turnwise") == used["postgres"]


def test_prometheus_gets_a_configuration_with_the_addresses_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prometheus").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    given = here("prometheus", tmp_path)
    words = [given.text(word) for word in given.service.command or []]

    _, config, *_ = prometheus_command(words, given.text, tmp_path)

    found = yaml.safe_load(Path(config.removeprefix("--config.file=")).read_text())
    targets = {job["job_name"]: job["static_configs"][0]["targets"] for job in found["scrape_configs"]}
    workers = [f"127.0.0.1:{given.places.port(name, 9090)}" for name in ("worker-llm", "worker-agent")]
    assert targets["turnwise-worker"] == workers
    assert targets["prometheus"] == ["127.0.0.1:9090"]
    assert found["rule_files"] == [str(ROOT / "deploy" / "prometheus" / "rules" / "*.yml")]


# --- Real processes, small ones ---------------------------------------------------------------------------------------


class Told:
    """Lines of services, and a way to wait for one."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, name: str, line: str) -> None:
        self.lines.append(f"{name}: {line}")

    async def wait_for(self, pattern: str, times: int) -> None:
        """Return once as many lines are of that form."""
        async with asyncio.timeout(60):
            while sum(bool(re.fullmatch(pattern, line)) for line in self.lines) < times:
                await asyncio.sleep(0.01)


def python(code: str, tmp_path: Path) -> Program:
    """A program that runs `code`."""
    return Program(command=[sys.executable, "-uc", code], environment={}, folder=tmp_path)


FOREVER = "import signal, time; signal.signal(signal.SIGTERM, lambda *_: exit(0)); print('up'); time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up'); time.sleep(600)"


def play(
    services: Mapping[str, Service], programs: Mapping[str, Program], until: str, times: int = 1
) -> tuple[bool, list[str]]:
    """Run a fleet until lines like `until` were told, then stop it. Return whether all ended well, and all lines."""
    told = Told()

    async def run() -> bool:
        fleet, stop = Fleet(services, programs, told), asyncio.Event()
        running = asyncio.create_task(fleet.run(stop, lambda: told("all", "ready")))
        waiting = asyncio.create_task(told.wait_for(until, times))
        await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        stop.set()
        return await running

    return asyncio.run(run()), told.lines


def test_a_service_waits_for_others_and_is_stopped_before_them(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    services = {
        "last": Service(image="", depends_on={"once": Wait(condition="service_completed_successfully")}),
        "once": Service(image="", depends_on={"first": Wait(condition="service_healthy")}),
        "first": Service(image="", healthcheck=Health(test=["CMD", "true"])),
    }
    first = Program(
        command=[sys.executable, "-uc", f"open({str(ready)!r}, 'w'); {FOREVER}"],
        environment={},
        folder=tmp_path,
        answers=ready.exists,
    )
    programs = {"last": python(FOREVER, tmp_path), "once": python("print('done')", tmp_path), "first": first}

    well, lines = play(services, programs, "last: up")

    events = [line for line in lines if "started" in line or "ended" in line or "healthy" in line]
    assert [line.split(" (")[0].split(" after")[0] for line in events] == [
        *("first: started", "first: healthy", "once: started", "once: ended", "last: started"),
        *("last: ended", "first: ended"),
    ]
    assert well


@pytest.mark.parametrize(
    ("policy", "code", "starts"), [("no", 3, 1), ("on-failure", 0, 1), ("on-failure:2", 3, 3), ("unless-stopped", 0, 3)]
)
def test_a_service_is_started_again_as_its_policy_says(tmp_path: Path, policy: str, code: int, starts: int) -> None:
    services = {"one": Service(image="", restart=policy), "other": Service(image="")}
    programs = {"one": python(f"exit({code})", tmp_path), "other": python(FOREVER, tmp_path)}
    last = "one: started .*" if policy == "unless-stopped" else rf"one: ended \(exit code {code}\)"

    _, lines = play(services, programs, last, times=starts if policy == "unless-stopped" else 1)

    assert len([line for line in lines if line.startswith("one: started")]) == starts


def test_a_service_that_does_not_end_in_its_time_is_killed_and_told(tmp_path: Path) -> None:
    services = {"one": Service.model_validate({"image": "", "stop_grace_period": "200ms"})}

    well, lines = play(services, {"one": python(DEAF, tmp_path)}, "one: up")

    assert not well
    assert lines[-2:] == ["one: did not end within 0.2 s, so it is killed", "one: ended (killed by SIGKILL)"]


def test_nothing_is_started_after_what_it_waits_for_has_failed(tmp_path: Path) -> None:
    waits = {"one": Wait(condition="service_completed_successfully")}
    services = {"one": Service(image=""), "two": Service(image="", depends_on=waits), "three": Service(image="")}
    programs = {name: python("exit(3)" if name == "one" else FOREVER, tmp_path) for name in services}

    with pytest.raises(ComposeError, match="two is not started: one ended with exit code 3"):
        play(services, programs, "never")


def test_a_program_that_can_not_be_started_ends_all(tmp_path: Path) -> None:
    services = {"one": Service(image=""), "two": Service(image="")}
    nothing = Program(command=[str(tmp_path / "nothing")], environment={}, folder=tmp_path)

    with pytest.raises(ComposeError, match=r"nothing cannot be started in .*: No such file"):
        play(services, {"one": python(FOREVER, tmp_path), "two": nothing}, "never")


def test_a_service_that_stops_answering_is_unhealthy_until_it_answers_again(tmp_path: Path) -> None:
    answers = itertools.chain([True, False, False], itertools.repeat(True))
    health = Health.model_validate({"test": ["CMD", "true"], "interval": "10ms", "retries": 2})
    program = dataclasses.replace(python(FOREVER, tmp_path), answers=lambda: next(answers))

    _, lines = play({"one": Service(image="", healthcheck=health)}, {"one": program}, "one: healthy .*", times=2)

    told = [line.split()[1].rstrip(":") for line in lines if "healthy" in line]
    assert told == ["healthy", "unhealthy", "healthy"]


def test_what_a_service_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid)"

    _, lines = play({"one": Service(image="")}, {"one": python(code, tmp_path)}, "never")

    (pid,) = (int(line.split()[1]) for line in lines if line.split()[1].isdigit())
    until(lambda: not lives(pid), "it to end")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent is gone")
def test_services_end_when_their_keeper_is_killed(tmp_path: Path) -> None:
    program = f"Program(command=['sleep', '600'], environment={{}}, folder=Path({str(tmp_path)!r}))"
    code = (
        "import asyncio; from pathlib import Path; from deploy.without_docker.compose_file import Service\n"
        "from deploy.without_docker.keeper import Keeper; from deploy.without_docker.program import Program\n"
        "async def main():\n"
        f"    await Keeper(Service(image=''), {program}, lambda line: print(line, flush=True)).run()\n"
        "asyncio.run(main())"
    )
    keeper = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert keeper.stdout is not None
    pid = int(re.search(r"pid (\d+)", keeper.stdout.readline())[1])  # type: ignore[index]

    keeper.kill()
    keeper.communicate()

    until(lambda: not lives(pid), "the service to end")


def lives(pid: int) -> bool:
    """Return whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
