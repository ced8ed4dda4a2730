"""A gateway without authentication answers programs of its own machine, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.gateway_parts import Served, served

GOOD = {"task": "desk", "message": "hello"}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("local")) as made:
        yield made


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1", "[::1]:80", "console.localhost:1", "127.8.9.1:80"])
def test_the_names_of_this_machine_are_fine(gateway: Served, host: str) -> None:
    assert gateway.http.get("/v1/runs", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "10.0.0.1", "", "[::1", "0.0.0.0"]
)
def test_a_foreign_name_that_leads_here_is_refused(gateway: Served, host: str) -> None:
    for path in ("/v1/runs", "/metrics", "/openapi.json"):
        answer = gateway.http.get(path, headers={"Host": host})

        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Forwarded-Host", "X-Real-IP", "Via"])
def test_what_came_through_a_proxy_is_refused(gateway: Served, name: str) -> None:
    answer = gateway.http.get("/v1/runs", headers={name: "203.0.113.7"})

    assert answer.status_code == 403
    assert "TURNWISE_AUTH" in answer.json()["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},  # another program's page
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_foreign_page_changes_nothing(gateway: Served, headers: dict[str, str]) -> None:
    run_id = gateway.submit()
    before = gateway.store.inspector.run(run_id)

    answers = [
        gateway.http.post("/v1/runs", json=GOOD, headers=headers),
        gateway.http.post(f"/v1/runs/{run_id}/cancel", headers=headers),
    ]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert gateway.store.inspector.run(run_id) == before
    assert gateway.http.get("/v1/runs", headers=headers).status_code == 200  # its browser does not let it read that


def test_a_page_of_its_own_may(gateway: Served) -> None:
    own = {"Origin": gateway.base_url, "Sec-Fetch-Site": "same-origin"}

    assert gateway.http.post("/v1/runs", json=GOOD, headers=own).status_code == 202


def test_no_key_is_made_that_would_be_of_use_once_there_is_authentication(gateway: Served) -> None:
    answer = gateway.http.post("/v1/keys", json={"name": "later", "scopes": ["admin"]})

    assert (answer.status_code, answer.json()["code"]) == (409, "keys_not_used")
    assert gateway.store.operator().api_keys() == []
