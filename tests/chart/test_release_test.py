"""`helm test` asks a real gateway whether the installation works."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.chart.engine import Release
from tests.support.gateway_parts import served
from tests.support.store_parts import new_worker

pytestmark = pytest.mark.helm


@pytest.fixture
def arguments(rendered: Callable[[str], Release]) -> list[str]:
    """The test's arguments for pools of which one may be empty, the gateway's address left out."""
    (container,) = rendered("keda-postgresql").all_of("Pod")["test"]["spec"]["containers"]
    assert container["command"] == ["python", "-c"]
    assert container["args"][1] == "http://turnwise:80"
    return [str(argument) for argument in container["args"]]


def ask(arguments: list[str], base_url: str, seconds: str, token: str = "a-token") -> subprocess.CompletedProcess[str]:
    """Return the verdict of the release's test on the gateway at this address."""
    return subprocess.run(
        [sys.executable, "-c", arguments[0], base_url, seconds, *arguments[3:]],
        env=os.environ | {"TURNWISE_AUTH_TOKEN": token},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_passes_when_each_queue_that_always_has_a_worker_has_one(arguments: list[str], tmp_path: Path) -> None:
    assert arguments[3:] == ["coordinator", "llm", "llm-writer", "agent-mailer"]  # `agent` may go down to nobody
    with served(tmp_path, auth="token", auth_token="a-token") as gateway:
        for queue in arguments[3:]:
            new_worker(gateway.store, queue)

        done = ask(arguments, gateway.base_url, "0")
        with_line_end = ask(arguments, gateway.base_url, "0", token="a-token\n")

    assert (done.returncode, done.stderr) == (0, "")
    assert (with_line_end.returncode, with_line_end.stderr) == (0, "")


def test_without_a_key_it_asks_for_readiness_only(arguments: list[str], tmp_path: Path) -> None:
    with served(tmp_path, auth="keys") as gateway:
        ready = ask(arguments, gateway.base_url, "0", token="")
    away = ask(arguments, gateway.base_url, "0", token="")

    assert (ready.returncode, ready.stderr) == (0, "")
    assert away.returncode == 1
    assert "is not ready" in away.stderr


def test_it_says_which_queue_nobody_serves_and_that_the_gateway_does_not_let_it_in(
    arguments: list[str], tmp_path: Path
) -> None:
    with served(tmp_path, auth="token", auth_token="a-token") as gateway:
        new_worker(gateway.store, "llm")
        lacking, refused = ask(arguments, gateway.base_url, "0"), ask(arguments, gateway.base_url, "0", token="wrong")

    assert (lacking.returncode, refused.returncode) == (1, 1)
    assert "no live worker for coordinator, llm-writer, agent-mailer" in lacking.stderr
    assert "401" in refused.stderr
