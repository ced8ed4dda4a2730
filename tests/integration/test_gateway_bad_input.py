"""The gateway's refusals of bad requests, over real HTTP; none of them leaves anything behind."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.support.gateway_parts import Served, served

from turnwise.base.listening import listen
from turnwise.bus.in_process import InProcessBus
from turnwise.errors import AddressInUseError, BrokerUnavailableError, DatabaseUnavailableError
from turnwise.record.runs.queries import RunLookup
from turnwise_gateway.openai_door.errors import PATHS as DOOR_PATHS

GOOD = {"task": "desk", "message": "hello"}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("gateway"), max_body_bytes=10_000) as made:
        yield made


def refused(gateway: Served, body: Any, status: int, code: str) -> dict[str, Any]:
    before = gateway.store.inspector.run_counts()
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = gateway.http.post("/v1/runs", content=content, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    problem: dict[str, Any] = response.json()
    assert (problem["status"], problem["code"]) == (status, code)
    assert gateway.store.inspector.run_counts() == before
    return problem


def test_an_unknown_task_is_refused_with_the_tasks_that_there_are(gateway: Served) -> None:
    assert "it has: desk" in refused(gateway, GOOD | {"task": "nobody"}, 422, "unknown_task")["detail"]


@pytest.mark.parametrize("body", [b"", b"{", b'{"task": }', b"\xff\xfe", b"[" * 5_000])
def test_what_is_not_json_is_refused(gateway: Served, body: bytes) -> None:
    if body:
        refused(gateway, body, 400, "invalid_json")
    else:
        refused(gateway, body, 422, "invalid_request")


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"task": 3}, "body.task"),
        ({"message": ["hello"]}, "body.message"),
        ({"message": ""}, "body.message"),
        ({"message": " \n\t"}, "body.message"),
        ({"priority": "1"}, "body.priority"),
        ({"priority": 1_000}, "body.priority"),
        ({"tags": "urgent"}, "body.tags"),
        ({"tags": ["a\u0000b"]}, "body.tags.0"),
        ({"version": "7\u0000"}, "body.version"),
        ({"metadata": ["a"]}, "body.metadata"),
        ({"metadata": {"a": "\ud800"}}, "body.metadata"),
        ({"message": "a\ud800"}, "body.message"),
        ({"metadata": {"a": float("nan")}}, "body.metadata"),
        ({"limits": {"max_cost": 0.5}}, "body.limits.max_cost"),
        ({"limits": {"max_cost": "-1"}}, "body.limits.max_cost"),
        ({"limits": {"max_cost": "1e3"}}, "body.limits.max_cost"),
        ({"limits": {"turns": 0}}, "body.limits.turns"),
        ({"limits": {"deadline": float("inf")}}, "body.limits.deadline"),
        ({"limits": {"max_runs": 1}}, "body.limits.max_runs"),
        ({"webhook": 5}, "body.webhook"),
        ({"session_id": ""}, "body.session_id"),
        ({"session_id": ".."}, "body.session_id"),
        ({"session_id": "a/b"}, "body.session_id"),
        ({"session_id": "a b"}, "body.session_id"),
        ({"session_id": "a\n"}, "body.session_id"),
        ({"session_id": "größe"}, "body.session_id"),
        ({"session_id": "s" * 129}, "body.session_id"),
        ({"session_id": 7}, "body.session_id"),
    ],
)
def test_a_field_that_can_not_be_taken_is_named(gateway: Served, change: dict[str, Any], where: str) -> None:
    out_of_bounds = any(sign in json.dumps(change) for sign in ("\\ud800", "NaN", "Infinity"))
    problem = refused(gateway, GOOD | change, 422, "unwritable" if out_of_bounds else "invalid_request")

    assert [fault["where"] for fault in problem["errors"]] == [where]


def test_every_fault_of_a_body_is_told_at_once(gateway: Served) -> None:
    problem = refused(gateway, {"task": 1, "more": 2}, 422, "invalid_request")

    assert {fault["where"] for fault in problem["errors"]} == {"body.task", "body.message", "body.more"}


def test_an_oversized_body_is_refused_by_its_announced_size_before_it_is_sent(gateway: Served) -> None:
    address = urlsplit(gateway.base_url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=10)
    connection.putrequest("POST", "/v1/runs")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "1000000000")
    connection.endheaders()

    response = connection.getresponse()

    assert response.status == 413
    assert "TURNWISE_MAX_BODY_BYTES" in json.loads(response.read())["detail"]
    connection.close()


def test_an_oversized_body_of_unknown_length_is_refused(gateway: Served) -> None:
    response = gateway.http.post("/v1/runs", content=iter([b" " * 6_000, b" " * 6_000]))

    assert (response.status_code, response.json()["code"]) == (413, "too_large")


def test_a_client_that_sends_its_whole_body_before_it_reads_gets_the_refusal(gateway: Served) -> None:
    address = urlsplit(gateway.base_url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=10)
    # More than the buffers on the way hold, so that the answer is there long before the body's end.
    connection.request("POST", "/v1/runs", iter([b" " * 1_000_000] * 20), encode_chunked=True)

    response = connection.getresponse()

    assert (response.status, json.loads(response.read())["code"]) == (413, "too_large")
    connection.close()


def test_a_body_that_was_read_to_its_end_keeps_no_refused_client_waiting(gateway: Served) -> None:
    address = urlsplit(gateway.base_url)
    piece = b" " * 11_000
    head = b"POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    # Less than the time for which more would be waited for.
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=3) as connection:
        connection.sendall(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(piece), piece))
        told = b"".join(iter(lambda: connection.recv(65_536), b""))

    assert told.startswith(b"HTTP/1.1 413 ")


def test_a_form_is_refused_with_the_type_that_is_expected(gateway: Served) -> None:
    response = gateway.http.post("/v1/runs", data={"task": "desk"})

    assert (response.status_code, response.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/v1/runs/",
        "/v1/runs/run_0",
        "/v1/runs/%00",
        "/v1/runs/run_0/events",
        "/v1/sessions/s",
        "/v1/sessions/%00",
    ],
)
def test_what_does_not_exist_is_a_problem_too(gateway: Served, path: str) -> None:
    response = gateway.http.get(path)

    assert (response.status_code, response.headers["content-type"]) == (404, "application/problem+json")
    assert response.json()["code"] == "not_found"


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/v1/runs", "GET, POST"), ("/v1/runs/run_0", "GET, PATCH"), ("/health/live", "GET, HEAD")],
)
def test_a_wrong_method_is_a_problem_that_names_the_right_ones(gateway: Served, path: str, allowed: str) -> None:
    response = gateway.http.put(path)

    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
    assert response.headers["allow"] == allowed


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=x",
        "status=lost",
        "cursor=!",
        "cursor=%FF",
        "created_after=then",
        "created_after=2026-01-01T00:00",
    ],
)
def test_a_wrong_filter_is_refused(gateway: Served, query: str) -> None:
    response = gateway.http.get(f"/v1/runs?{query}")

    assert (response.status_code, response.json()["code"]) == (422, "invalid_request")


def test_the_same_key_and_body_give_the_same_run_and_another_body_is_refused(gateway: Served) -> None:
    key = {"Idempotency-Key": "one"}
    first = gateway.http.post("/v1/runs", json=GOOD, headers=key)

    again = gateway.http.post("/v1/runs", json={"message": "hello", "task": "desk", "tags": []}, headers=key)
    other = gateway.http.post("/v1/runs", json=GOOD | {"message": "bye"}, headers=key)

    assert (again.status_code, again.headers["location"]) == (202, first.headers["location"])
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")


def test_without_the_token_nothing_but_probes_metrics_and_the_description_is_open(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with served(tmp_path_factory.mktemp("guarded"), auth="token", auth_token="secret") as gateway:
        statuses = {
            token: gateway.http.post(
                "/v1/runs", content=b"{", headers={b"Authorization": token.encode("latin-1")}
            ).status_code
            for token in ("", "Bearer", "Bearer wrong", "Bearer secreü", "Basic secret")
        }
        nothing_there = gateway.http.get("/nothing")
        known = gateway.http.post("/v1/runs", json=GOOD, headers={"Authorization": "Bearer secret"})
        paths = ("/health/live", "/health/ready", "/metrics", "/docs", "/openapi.json")
        opened = [gateway.http.get(path).status_code for path in paths]

    assert set(statuses.values()) == {401}
    assert (nothing_there.status_code, nothing_there.headers["www-authenticate"]) == (401, "Bearer")
    assert nothing_there.json()["code"] == "unauthorized"
    assert known.status_code == 202
    assert opened == [200] * len(paths)


class _SilentBroker(InProcessBus):
    def wake(self, run: str, version: str | None = None) -> None:
        raise BrokerUnavailableError("no broker")


def test_a_run_is_kept_although_the_broker_is_away(tmp_path_factory: pytest.TempPathFactory) -> None:
    with served(tmp_path_factory.mktemp("alone"), bus=_SilentBroker()) as gateway:
        run_id = gateway.submit()

        assert gateway.store.inspector.run(run_id).status == "queued"


def test_a_database_that_is_gone_is_a_503_and_the_process_still_lives(tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("gone")
    with served(directory) as gateway:
        with gateway.store.database.begin() as connection:
            connection.exec_driver_sql("DROP TABLE runs")
            connection.exec_driver_sql("DROP TABLE alembic_version")

        answers = [gateway.http.post("/v1/runs", json=GOOD), gateway.http.get("/health/ready")]
        alive = gateway.http.get("/health/live")
        scraped = gateway.http.get("/metrics")

    assert [(one.status_code, one.json()["code"]) for one in answers] == [(503, "schema_version")] * 2
    assert "turnwise migrate" in answers[0].json()["detail"]
    assert alive.status_code == 200
    assert "turnwise_build_info" in scraped.text
    assert "turnwise_runs_active" not in scraped.text


def test_a_busy_port_is_an_error_that_says_which() -> None:
    with listen("127.0.0.1", 0, "TURNWISE_BIND") as held:
        port = held.getsockname()[1]
        with pytest.raises(AddressInUseError, match=f"127.0.0.1:{port} is in use"):
            listen("127.0.0.1", port, "TURNWISE_BIND")


def test_every_path_of_the_description_documents_its_problems(gateway: Served) -> None:
    description = gateway.http.get("/openapi.json").json()

    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            wrong = {status: one for status, one in operation["responses"].items() if status >= "400"}
            assert wrong, f"{method} {path} documents no problem"
            for status, one in wrong.items():
                form = "application/json" if DOOR_PATHS.fullmatch(path) else "application/problem+json"
                assert list(one["content"]) == [form], f"{method} {path} {status}"
    assert "Problem" in description["components"]["schemas"]


def test_a_parameter_that_a_route_does_not_have_is_refused_with_those_it_has(gateway: Served) -> None:
    answer = gateway.http.get("/v1/runs", params={"stauts": "failed"})

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    [fault] = answer.json()["errors"]
    assert fault["where"] == "query.stauts"
    assert "status" in fault["message"]


@pytest.mark.parametrize("path", ["/health/live", "/health/ready"])
def test_a_probe_may_ask_for_the_head_alone(gateway: Served, path: str) -> None:
    answer = gateway.http.head(path)

    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("method", "path", "told"),
    [
        ("POST", "/v1/runs/cancel?dry_run=true", "there is no such parameter here, and no other"),
        ("GET", "/v1/tasks?foo=1", "there is no such parameter here"),
        ("GET", "/v1/runs?tag=a&tag=b", "this is given 2 times, and is taken once"),
    ],
)
def test_a_parameter_that_would_not_be_heeded_is_refused(gateway: Served, method: str, path: str, told: str) -> None:
    run = gateway.submit(tags=["unheeded"])
    body = {"filter": {"tag": "unheeded"}} if method == "POST" else None
    response = gateway.http.request(method, path, json=body)
    assert (response.status_code, response.json()["code"]) == (422, "invalid_request")
    assert told in response.json()["errors"][0]["message"]
    assert gateway.http.get(f"/v1/runs/{run}").json()["cancel_requested_at"] is None


def test_a_run_that_was_accepted_is_told_although_it_cannot_be_read(
    gateway: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise DatabaseUnavailableError("the database is away")

    monkeypatch.setattr(RunLookup, "run", away)
    response = gateway.http.post("/v1/runs?wait=5", json=GOOD)
    monkeypatch.undo()
    assert (response.status_code, response.json()["status"]) == (202, "queued")
    assert gateway.http.get(response.headers["Location"]).json()["id"] == response.json()["id"]
