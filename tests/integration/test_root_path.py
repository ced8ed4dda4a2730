"""A gateway below a path, behind a proxy that takes the path off and behind one that leaves it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.support.gateway_parts import Served, served
from tests.support.path_proxy import PathProxy

from turnwise.client import Client
from turnwise.errors import ConfigurationError
from turnwise_gateway.http.root_path import without_root

ROOT = "/team/turnwise"
TOKEN = "a-token"


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, root_path=ROOT, auth="token", auth_token=TOKEN) as made:
        yield made


@pytest.fixture(params=[True, False], ids=["stripped", "left"])
def proxy(gateway: Served, request: pytest.FixtureRequest) -> Iterator[PathProxy]:
    with PathProxy(gateway.base_url, ROOT, strips=request.param) as made:
        yield made


@pytest.fixture
def http(proxy: PathProxy) -> Iterator[httpx2.Client]:
    """A client of the proxy's host, as a browser is: it follows the paths that it is told."""
    with httpx2.Client(base_url=proxy.origin, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as made:
        yield made


def paths_in(value: Any) -> list[str]:
    """Every path among the links of an answer."""
    if isinstance(value, dict):
        return [path for inner in value.values() for path in paths_in(inner)]
    return [value] if isinstance(value, str) else []


def test_every_path_that_is_told_leads_to_something(http: httpx2.Client) -> None:
    made = http.post(f"{ROOT}/v1/runs", json={"task": "desk", "message": "hello", "session_id": "ann"})
    run = made.json()
    session = http.get(f"{ROOT}/v1/sessions/ann").json()

    assert made.status_code == 202
    assert made.headers["Location"] == f"{ROOT}/v1/runs/{run['id']}"
    assert http.get(made.headers["Location"]).json()["id"] == run["id"]
    links = paths_in(run["links"]) + paths_in(session["links"])
    assert links and all(link.startswith(f"{ROOT}/v1/") for link in links)
    for path in [link for link in links if not link.endswith("/events")]:
        assert http.get(path).status_code in (200, 405), path  # some are for POST only


def test_the_description_says_where_the_api_is_and_needs_no_token(proxy: PathProxy) -> None:
    with httpx2.Client(base_url=proxy.origin) as anybody:
        page = anybody.get(f"{ROOT}/docs")
        described = anybody.get(f"{ROOT}/openapi.json").json()
        ready = anybody.get(f"{ROOT}/health/ready")
        closed = anybody.get(f"{ROOT}/v1/runs")

    assert f"{ROOT}/openapi.json" in page.text
    assert described["servers"] == [{"url": ROOT}]
    assert "/v1/runs" in described["paths"]
    assert (ready.status_code, closed.status_code) == (200, 401)


def test_a_problem_names_the_path_that_was_asked_for(http: httpx2.Client) -> None:
    told = http.get(f"{ROOT}/v1/none")
    slash = http.get(f"{ROOT}/v1/runs/")

    assert told.json()["detail"] == f"there is nothing at {ROOT}/v1/none; see {ROOT}/docs for what there is"
    assert slash.json()["detail"] == f"there is nothing at {ROOT}/v1/runs/; see {ROOT}/docs for what there is"


def test_the_client_and_the_commands_take_an_address_with_a_path(proxy: PathProxy, gateway: Served) -> None:
    with Client(proxy.url + "/", token=TOKEN) as client:
        run_id = client.submit("desk", "hello").id
        gateway.finish(run_id)
        events = list(client.events(run_id))

    done = subprocess.run(
        [sys.executable, "-m", "turnwise.cli.main", "runs"],
        env=os.environ | {"TURNWISE_URL": proxy.url, "TURNWISE_AUTH_TOKEN": TOKEN},
        capture_output=True,
        text=True,
        check=False,
    )

    assert [event.type for event in events][-1] == "run.completed"
    assert (done.returncode, run_id in done.stdout) == (0, True), done.stderr


def test_probes_and_neighbours_reach_the_gateway_without_the_path(gateway: Served) -> None:
    assert gateway.http.get("/health/live").status_code == 200
    assert gateway.http.get("/metrics").status_code == 200
    assert (
        gateway.http.get(f"{ROOT}-other/health/live", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 404
    )


def test_requests_are_counted_by_the_routes_that_they_take(http: httpx2.Client, gateway: Served) -> None:
    http.get(f"{ROOT}/v1/runs")
    http.get(f"{ROOT}/health/ready")
    http.get(f"{ROOT}/v1/runs", headers={"Authorization": "Bearer wrong"})

    text = gateway.http.get("/metrics").text

    assert 'turnwise_http_requests_total{method="GET",route="/v1/runs",status="2xx"} 1.0' in text
    assert 'turnwise_http_requests_total{method="GET",route="/v1/runs",status="4xx"} 1.0' in text
    assert "unmatched" not in text
    assert "/health" not in text


def test_a_path_in_front_does_not_open_what_is_closed(gateway: Served) -> None:
    for path in (f"{ROOT}/v1/runs", "/v1/runs", f"{ROOT}{ROOT}/health/live"):
        assert gateway.http.get(path).status_code in (401, 404), path


@pytest.mark.parametrize(
    ("path", "inner"),
    [("/team/x", "/x"), ("/team", "/"), ("/team/", "/"), ("/teams/x", "/teams/x"), ("/x", "/x"), ("/", "/")],
)
def test_a_path_is_below_the_root_by_whole_words(path: str, inner: str) -> None:
    assert without_root(path, "/team") == inner
    assert without_root(path, "") == path


@pytest.mark.parametrize("root", ["/v1", "/health"])
def test_a_root_path_that_is_a_path_of_ours_is_refused(tmp_path: Path, root: str) -> None:
    told = f"TURNWISE_ROOT_PATH is '{root}', which the gateway's own path {root}/"
    with pytest.raises(ConfigurationError, match=told), served(tmp_path, root_path=root):
        pass
