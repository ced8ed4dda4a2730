"""The evaluation mode works: what its pods run, as processes of this machine, brings a run of the demo to its end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.chart.engine import Engine, Release, render
from tests.e2e.processes import Process, free_port
from tests.support.brokers import BrokerMissing, fresh_rabbitmq
from tests.support.client_views import present
from tests.support.databases import NoPostgresError, fresh_postgres
from tests.support.services import missing

from turnwise.client import Client
from turnwise.demo.tickets import outcome_of

pytestmark = [pytest.mark.helm, pytest.mark.postgres, pytest.mark.rabbitmq, pytest.mark.timeout(300)]

# It wants an entry in the demo's books.
TICKET = """Ticket T-01 from amelia.stone@fernmail.test
Subject: Charged twice in October

My card statement shows two payments of 6.00 USD from you on 1 October. Please refund the second one (INV-1003)."""
ORDER = ("model", "gateway", "coordinator", "worker-llm", "worker-agent")


class Pods:
    """The containers of a release as processes of this machine: each gets what the manifest says, and nothing else."""

    def __init__(self, release: Release, folder: Path, secret: dict[str, str]) -> None:
        self.release, self.folder, self.secret = release, folder, secret
        self.ports: dict[str, int] = {}

    def container(self, name: str, kind: str = "containers") -> dict[str, Any]:
        """The first container of a pod."""
        found: dict[str, Any] = self.release.pods()[f"turnwise-{name}"]["spec"][kind][0]
        return found

    def port(self, name: str) -> int:
        """The port that stands for the one of a pod."""
        return self.ports.setdefault(name, free_port())

    def here(self, name: str, text: str) -> str:
        """`text` with the addresses and folders of this machine."""
        for number in ("8080", "8090", "9090"):
            text = text.replace(f"0.0.0.0:{number}", f"127.0.0.1:{self.port(name)}")
        text = text.replace("turnwise-model:8090", f"127.0.0.1:{self.port('model')}")
        return text.replace("/tmp/", f"{self.folder}/tmp/")

    def environment(self, name: str, container: dict[str, Any]) -> dict[str, str]:
        """The variables of a container; its home can no more be written to than there."""
        found = {"PATH": os.environ["PATH"], "HOME": "/proc/none", "PYTHONUNBUFFERED": "1"}
        for entry in container.get("env", []):
            if "value" in entry:
                found[entry["name"]] = self.here(name, entry["value"])
            elif not entry["valueFrom"]["secretKeyRef"].get("optional"):
                found[entry["name"]] = self.secret[entry["valueFrom"]["secretKeyRef"]["key"]]
        return found

    def start(self, name: str) -> Process:
        """The container's process."""
        container = self.container(name)
        arguments = [self.here(name, str(argument)) for argument in container["args"]]
        url, log = f"http://127.0.0.1:{self.port(name)}", self.folder / f"{name}.log"
        return Process(arguments, self.environment(name, container), url, log)


@pytest.fixture
def pods(rendered: Callable[[str], Release], tmp_path: Path) -> Iterator[Pods]:
    """All processes of the evaluation mode, on a PostgreSQL and a RabbitMQ of this machine."""
    release = rendered("evaluation")
    with ExitStack() as stack:
        try:
            servers = {
                "database-url": stack.enter_context(fresh_postgres()),
                "broker-url": stack.enter_context(fresh_rabbitmq()),
            }
        except (NoPostgresError, BrokerMissing) as error:
            missing(str(error))
        made = Pods(release, tmp_path, release.all_of("Secret")["evaluation"]["stringData"] | servers)
        migrate = made.container("gateway", "initContainers")
        assert "turnwise migrate" in migrate["args"][0]
        subprocess.run(
            [sys.executable, "-m", "turnwise.cli.main", "migrate"], env=made.environment("gateway", migrate), check=True
        )
        for name in ORDER:
            process = made.start(name)
            stack.callback(process.stop)
            if name != "model":
                process.wait_ready()
        yield made


def test_a_run_of_the_demo_comes_to_its_end_without_a_key_or_a_server_of_anybodys(pods: Pods) -> None:
    gateway = f"http://127.0.0.1:{pods.port('gateway')}"

    with Client(gateway, token=pods.secret["auth-token"]) as client:
        run_id = client.submit("triage", TICKET).id
        events = list(client.events(run_id))
        run = client.run(run_id)
    container = pods.container("test")
    _, _, _, *queues = container["args"]
    asked = subprocess.run(
        [sys.executable, "-c", container["args"][0], gateway, "30", *queues],
        env=pods.environment("test", container),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (events[-1].type, run.status) == ("run.completed", "completed")
    assert outcome_of(present(run.result).content) == "refunded"
    assert (asked.returncode, asked.stderr) == (0, "")


def test_the_model_answers_where_workers_ask_and_a_real_one_takes_its_place(
    rendered: Callable[[str], Release], engine: Engine
) -> None:
    real = render(engine, {"evaluation": {"enabled": True}, "openaiBaseUrl": "https://llm.example.com/v1"})

    assert "model" in rendered("evaluation").all_of("Deployment")
    assert "model" not in real.all_of("Deployment")
    environment = {one["name"]: one for one in real.pods()["turnwise-worker-llm"]["spec"]["containers"][0]["env"]}
    assert environment["OPENAI_BASE_URL"]["value"] == "https://llm.example.com/v1"
    assert environment["OPENAI_API_KEY"]["valueFrom"]["secretKeyRef"]["name"] == "turnwise"
    assert "TURNWISE_DEMO_MODEL" not in environment


def test_the_demos_books_are_in_one_pod_however_the_pool_would_be_scaled(rendered: Callable[[str], Release]) -> None:
    release = rendered("everything")

    assert release.all_of("Deployment")["worker-agent"]["spec"]["replicas"] == 1
    assert "worker-agent" not in release.all_of("ScaledObject")
    assert "worker-llm" in release.all_of("ScaledObject")
