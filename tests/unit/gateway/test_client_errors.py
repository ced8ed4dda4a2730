"""The client's errors for refusals, silence and broken streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from tests.support.client_views import numbered, run_json

from turnwise.client import Client
from turnwise.errors import (
    ConflictError,
    DatabaseUnavailableError,
    EnvironmentFault,
    GatewayUnavailableError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    QuotaExceededError,
    RequestTooLargeError,
    TurnwiseError,
    UnauthorizedError,
    UnknownTaskError,
)

Handler = Callable[[httpx2.Request], httpx2.Response]


def client_of(handler: Handler) -> Client:
    return Client("http://gateway", transport=httpx2.MockTransport(handler))


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid_json", InvalidRequestError),
        (401, "unauthorized", UnauthorizedError),
        (403, "forbidden", PermissionDeniedError),
        (429, "too_many_runs", QuotaExceededError),
        (404, "not_found", NotFoundError),
        (409, "already_answered", ConflictError),
        (413, "too_large", RequestTooLargeError),
        (422, "unknown_task", UnknownTaskError),
        (422, "idempotency_mismatch", InvalidRequestError),
        (500, "internal", TurnwiseError),
        (503, "database_unavailable", DatabaseUnavailableError),
        # Errors that have more than a text are made by their own process only.
        (503, "newer_state", EnvironmentFault),
        (422, "limit_reached", InvalidRequestError),
        (500, "limit_reached", TurnwiseError),
    ],
)
def test_a_problem_becomes_the_error_of_its_code(status: int, code: str, kind: type[TurnwiseError]) -> None:
    def refuse(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, json={"code": code, "detail": "because", "status": status})

    with client_of(refuse) as client, pytest.raises(kind, match="because") as caught:
        client.run("run_1")

    assert type(caught.value) is kind
    if isinstance(caught.value, ConflictError):
        assert caught.value.code == code


def test_an_answer_that_is_no_problem_document_says_that_this_may_be_no_gateway() -> None:
    with (
        client_of(lambda _request: httpx2.Response(500, text="<html>")) as client,
        pytest.raises(TurnwiseError, match=r"500.*is it a gateway"),
    ):
        client.tasks()


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_without_a_gateway_behind_it_is_a_gateway_that_is_away(status: int) -> None:
    with (
        client_of(lambda _request: httpx2.Response(status, text="<html>")) as client,
        pytest.raises(GatewayUnavailableError, match=rf"{status}.*no gateway behind it"),
    ):
        client.tasks()


def test_nobody_at_the_address_is_an_error_that_says_how_to_start_a_gateway() -> None:
    with (
        Client("http://127.0.0.1:1") as client,
        pytest.raises(
            GatewayUnavailableError, match=r"no gateway answers at http://127\.0\.0\.1:1 \(.*\); start one with"
        ),
    ):
        client.tasks()


def test_a_submission_carries_the_limits_that_were_given_and_money_as_text() -> None:
    sent: list[httpx2.Request] = []

    def accept(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(202, json=run_json())

    with client_of(accept) as client:
        run = client.submit("desk", "hello", max_cost=Decimal("1E-2"), turns=3, idempotency_key="k", wait=2)

    assert run.id == "run_1"
    body = json.loads(sent[0].content)
    assert body["limits"] == {"max_cost": "0.01", "turns": 3}
    assert (sent[0].headers["idempotency-key"], sent[0].url.params["wait"]) == ("k", "2")


def test_a_run_id_never_leads_to_another_path() -> None:
    seen: list[str] = []

    def note(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.url.raw_path.decode())
        return httpx2.Response(200, json=run_json())

    with client_of(note) as client:
        client.cancel("../inbox?x")

    assert seen == ["/v1/runs/..%2Finbox%3Fx/cancel"]


class _Broken(httpx2.SyncByteStream):
    """A body that ends with a broken connection."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks
        raise httpx2.ReadError("connection reset")


MOMENT = {"at": "2026-01-01T00:00:00Z", "run": "run_1"}


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(f"id: {one['seq']}\ndata: {json.dumps(MOMENT | one)}\n\n".encode() for one in events)


def test_a_broken_stream_is_resumed_after_the_last_whole_event() -> None:
    resumed: list[str] = []

    def serve(request: httpx2.Request) -> httpx2.Response:
        if not request.url.path.endswith("/events"):
            return httpx2.Response(200, json=run_json(finished_at="2026-01-01T00:00:00Z", last_event=3))
        resumed.append(request.headers["last-event-id"])
        headers = {"Content-Type": "text/event-stream"}
        if len(resumed) == 1:
            half = sse({"seq": 2, "type": "turn.taken"})[:-1]
            return httpx2.Response(200, headers=headers, stream=_Broken(sse({"seq": 1, "type": "run.accepted"}), half))
        last = sse({"seq": 2, "type": "turn.taken"}, {"seq": 3, "type": "run.failed"})
        return httpx2.Response(200, headers=headers, content=last)

    with client_of(serve) as client:
        seen = [event.seq for event in numbered(client.events("run_1"))]

    assert seen == [1, 2, 3]
    assert resumed == ["0", "1"]


def test_a_stream_after_the_last_event_of_an_ended_run_is_empty() -> None:
    def serve(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/events"):
            return httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content=b"")
        return httpx2.Response(200, json=run_json(finished_at="2026-01-01T00:00:00Z", last_event=7))

    with client_of(serve) as client:
        assert list(client.events("run_1", after=7)) == []


def test_a_gateway_that_restarts_before_the_first_connection_is_waited_for() -> None:
    failures: list[Exception] = [httpx2.RemoteProtocolError("no response"), httpx2.ConnectError("refused")]
    refusals = [503, 502]  # of a proxy in front of it

    def serve(request: httpx2.Request) -> httpx2.Response:
        if failures:
            raise failures.pop(0)
        if refusals:
            return httpx2.Response(refusals.pop(), text="<html>")
        if request.url.path.endswith("/events"):
            content = sse({"seq": 1, "type": "run.completed"})
            return httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content=content)
        return httpx2.Response(200, json=run_json(finished_at="2026-01-01T00:00:00Z", last_event=1))

    with client_of(serve) as client:
        assert [event.seq for event in numbered(client.events("run_1"))] == [1]


def test_a_stream_is_given_up_when_nothing_answers_for_too_long() -> None:
    calls = 0

    def serve(_request: httpx2.Request) -> httpx2.Response:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise httpx2.ConnectError("refused")
        headers = {"Content-Type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=_Broken(sse({"seq": 1, "type": "run.accepted"})))

    with client_of(serve) as client, pytest.raises(GatewayUnavailableError, match="http://gateway"):
        list(client.events("run_1", patience=0.1))

    assert calls > 1


def accepting(bodies: list[Any]) -> Handler:
    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return httpx2.Response(202, json=run_json())

    return answer


@pytest.mark.parametrize(
    ("amount", "sent"),
    [
        (Decimal("0.50"), "0.50"),
        ("0.50", "0.50"),
        (4e-7, "0.0000004"),
        (1, "1"),
        (Decimal("1E-8"), "0.00000001"),
    ],
)
def test_an_amount_is_sent_as_the_program_has_it(amount: Any, sent: str) -> None:
    bodies: list[Any] = []
    with client_of(accepting(bodies)) as client:
        client.submit("desk", "hello", max_cost=amount)

    assert bodies[0]["limits"] == {"max_cost": sent}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"max_cost": "much"}, "'much'; expected US dollars"),
        ({"max_cost": Decimal("1E300000000")}, r"'1E\+300000000'; expected US dollars"),
        ({"max_cost": "1e-300000000"}, "'1e-300000000'; expected US dollars"),
        ({"max_cost": -0.5}, "'-0.5'; expected US dollars"),
        ({"max_cost": Decimal("NaN")}, "'NaN'; expected US dollars"),
        ({"max_cost": "9" * 5_000}, f"'{'9' * 100}'; expected US dollars"),
        ({"max_cost": 10**5_000}, "'an int of thousands of digits'; expected US dollars"),
        ({"idempotency_key": "é"}, "expected visible ASCII"),
        ({"metadata": {"a": float("nan")}}, "cannot be written as JSON"),
        ({"metadata": {"a": {1, 2}}}, "set is not JSON serializable"),
        ({"session_id": "\ud800"}, "surrogates not allowed"),
        ({"wait": float("nan")}, "wait is nan; expected seconds"),
        ({"wait": float("inf")}, "wait is inf; expected seconds"),
        ({"wait": -40}, "wait is -40; expected seconds"),
        ({"wait": 1e300}, r"wait is 1e\+300; expected seconds"),
        ({"wait": "5"}, "wait is '5'; expected seconds"),
    ],
)
def test_what_cannot_be_sent_is_refused(arguments: dict[str, Any], told: str) -> None:
    bodies: list[Any] = []
    with client_of(accepting(bodies)) as client, pytest.raises(InvalidRequestError, match=told):
        client.submit("desk", "hello", **arguments)

    assert bodies == []


_DEEP = b"[" * 100_000


@pytest.mark.parametrize(("status", "told"), [(200, "is it a gateway"), (404, "is it a gateway"), (503, "a proxy")])
def test_an_answer_that_is_too_deep_to_read_is_none_of_a_gateway(status: int, told: str) -> None:
    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, content=_DEEP)

    with client_of(answer) as client, pytest.raises(TurnwiseError, match=told):
        client.run("run_1")


def test_an_event_that_is_too_deep_to_read_is_told() -> None:
    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content=b"data: " + _DEEP + b"\n\n")

    with client_of(answer) as client, pytest.raises(TurnwiseError, match="an event of run_1 cannot be read"):
        list(client.events("run_1"))


def test_an_empty_id_is_refused() -> None:
    with client_of(accepting([])) as client, pytest.raises(InvalidRequestError, match="an id is empty"):
        client.run("")
