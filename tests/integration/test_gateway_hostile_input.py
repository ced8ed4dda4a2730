"""Requests that are wrong in very many places, or at great length: the gateway's answers are short."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from tests.support.gateway_parts import Served, served

NAME = "a-" * 10_000


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("gateway"), auth="token", auth_token="secret") as made:
        made.http.headers["Authorization"] = "Bearer secret"
        yield made


def short(answer: httpx2.Response, status: int) -> httpx2.Response:
    assert answer.status_code == status
    assert len(answer.content) < 10_000
    return answer


def test_of_very_many_faults_of_a_body_the_first_are_told_and_the_others_counted(gateway: Served) -> None:
    answer = short(gateway.http.post("/v1/runs", json={f"n{number}": 1 for number in range(50_000)}), 422)

    told = answer.json()
    assert (len(told["errors"]), told["more_errors"]) == (20, 50_002 - 20)
    assert [fault["where"] for fault in told["errors"][:3]] == ["body.task", "body.message", "body.n0"]
    assert told["detail"].endswith("; and 49,982 more")


def test_the_number_of_others_is_told_where_there_are_some(gateway: Served) -> None:
    answer = gateway.http.post("/v1/runs", json={f"n{number}": 1 for number in range(18)})

    assert (len(answer.json()["errors"]), "more_errors" in answer.json()) == (20, False)
    assert "more" not in answer.json()["detail"]


def test_of_very_many_parameters_the_first_are_told(gateway: Served) -> None:
    answer = short(gateway.http.get("/v1/runs?" + "&".join(f"n{number}=1" for number in range(5_000))), 422)

    assert (len(answer.json()["errors"]), answer.json()["more_errors"]) == (20, 4_980)


def test_openai_clients_are_told_the_first_faults_too(gateway: Served) -> None:
    body = {"model": "desk", "messages": [{} for _ in range(1_000)]}

    message = short(gateway.http.post("/v1/chat/completions", json=body), 400).json()["error"]["message"]

    assert message.startswith("messages[0]")
    assert message.endswith(" more")


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("POST", "/v1/runs", f'{{"{NAME}": 1}}', 422),
        ("POST", "/v1/chat/completions", f'{{"model": "desk", "messages": [], "metadata": {{"{NAME}": 1}}}}', 400),
        ("GET", f"/v1/runs?{NAME}=1", "", 422),
        ("GET", f"/v1/images/{NAME}", "", 404),
    ],
)
def test_of_a_long_name_the_beginning_is_quoted(
    gateway: Served, method: str, path: str, content: str, status: int
) -> None:
    answer = gateway.http.request(method, path, content=content, headers={"Content-Type": "application/json"})

    assert NAME[:150] in short(answer, status).text
    assert NAME[:300] not in answer.text


def test_of_a_long_path_the_beginning_is_quoted(gateway: Served) -> None:
    told = short(gateway.http.get("/n" * 10_000), 404).text

    assert "/n" * 90 in told
    assert "/n" * 150 not in told


def test_of_a_long_origin_the_beginning_is_quoted_to_a_page_without_a_key(gateway: Served) -> None:
    headers = {"Cookie": "turnwise-sign-in=x", "Sec-Fetch-Site": "cross-site", "Origin": NAME}
    answer = httpx2.get(f"{gateway.base_url}/v1/runs", headers=headers)

    assert "a page of a-a-a" in short(answer, 403).text
    assert NAME[:300] not in answer.text
