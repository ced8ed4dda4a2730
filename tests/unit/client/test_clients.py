"""Both clients: when they send a request again, how they go through pages and events, what they make of answers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar

import httpx2
import pytest
from tests.support.client_views import run_json

from turnwise.api.events import DeltaView, EventView, UnknownNotice
from turnwise.client import AsyncClient, Client
from turnwise.errors import (
    ConfigurationError,
    ConflictError,
    DatabaseUnavailableError,
    GatewayUnavailableError,
    InvalidRequestError,
    QuotaExceededError,
    TurnwiseError,
)

T = TypeVar("T")
Handler = Callable[[httpx2.Request], httpx2.Response]
# Does something with a client of either kind, and returns what came of it as a list.
Use = Callable[[Any], Any]


def blocking(handler: Handler, use: Use, retries: int) -> Any:
    with Client("http://gateway", retries=retries, transport=httpx2.MockTransport(handler)) as client:
        result = use(client)
        return list(result) if isinstance(result, Iterator) else result


def awaited(handler: Handler, use: Use, retries: int) -> Any:
    async def run() -> Any:
        transport = httpx2.MockTransport(handler)
        async with AsyncClient("http://gateway", retries=retries, transport=transport) as client:
            result = use(client)
            return [one async for one in result] if isinstance(result, AsyncIterator) else await result

    return asyncio.run(run())


@pytest.fixture(params=[blocking, awaited])
def with_client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setattr("turnwise.client.exchange._FIRST_PAUSE", 0.0)
    monkeypatch.setattr("turnwise.client.exchange._LONGEST_PAUSE", 0.0)
    monkeypatch.setattr("turnwise.client.event_reading._FIRST_PAUSE", 0.0)
    drive: Callable[[Handler, Use, int], Any] = request.param
    return lambda handler, use, retries=0: drive(handler, use, retries)


class Gateway:
    """Answers requests with what is given, in turn; an exception is raised. It keeps the requests."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def keys(self) -> list[str | None]:
        return [request.headers.get("idempotency-key") for request in self.requests]


def found(**changes: Any) -> httpx2.Response:
    return httpx2.Response(200, json=run_json(**changes))


def refused(status: int, code: str, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, json={"code": code, "detail": "because", "status": status}, headers=headers)


def test_an_answer_is_a_model(with_client: Callable[..., Any]) -> None:
    gateway = Gateway(found(status="completed", result=None, waiting_for={"kind": "human"}, of_tomorrow=[1]))

    run = with_client(gateway, lambda client: client.run("run_1"))

    assert (run.status, run.created_at) == ("completed", datetime(2026, 11, 23, 0, 20, 15, tzinfo=UTC))
    assert run.waiting_for == {"kind": "human"}
    assert run.model_extra == {"of_tomorrow": [1]}


def test_a_document_of_another_kind_says_that_this_may_be_no_gateway(with_client: Callable[..., Any]) -> None:
    for answer in (httpx2.Response(200, text="<html>"), httpx2.Response(200, json={"hello": "world"})):
        with pytest.raises(TurnwiseError, match=r"answered 200 with a document .* is it a gateway\?"):
            with_client(Gateway(answer), lambda client: client.run("run_1"))


def test_nothing_is_sent_again_unless_it_is_wished(with_client: Callable[..., Any]) -> None:
    gateway = Gateway(httpx2.ReadError("reset"))

    with pytest.raises(GatewayUnavailableError):
        with_client(gateway, lambda client: client.run("run_1"))

    assert gateway.keys == [None]


def test_a_change_is_sent_again_under_one_idempotency_key(with_client: Callable[..., Any]) -> None:
    gateway = Gateway(httpx2.ReadError("reset"), refused(503, "database_unavailable", **{"Retry-After": "2"}), found())

    run = with_client(gateway, lambda client: client.submit("desk", "hello"), retries=2)

    assert run.id == "run_1"
    [key] = set(gateway.keys)
    assert key
    assert len(gateway.requests) == 3


def test_a_key_that_was_given_is_kept_and_two_calls_have_two_keys(with_client: Callable[..., Any]) -> None:
    own = Gateway(httpx2.ReadError("reset"), found())
    with_client(own, lambda client: client.cancel("run_1", idempotency_key="mine"), retries=1)
    assert own.keys == ["mine", "mine"]

    keys = set()
    for _ in range(2):
        gateway = Gateway(found())
        with_client(gateway, lambda client: client.cancel("run_1"), retries=1)
        keys |= set(gateway.keys)
    assert len(keys) == 2


def test_a_look_is_sent_again_without_a_key(with_client: Callable[..., Any]) -> None:
    gateway = Gateway(httpx2.ConnectError("refused"), refused(502, "bad_gateway"), found())

    with_client(gateway, lambda client: client.run("run_1"), retries=2)

    assert gateway.keys == [None, None, None]


def test_a_deletion_is_not_sent_again_because_the_second_one_would_find_nothing(
    with_client: Callable[..., Any],
) -> None:
    gateway = Gateway(httpx2.ReadError("reset"))

    with pytest.raises(GatewayUnavailableError):
        with_client(gateway, lambda client: client.resume("queue", "llm"), retries=3)

    assert len(gateway.requests) == 1


def test_retries_end_with_the_last_refusal(with_client: Callable[..., Any]) -> None:
    gateway = Gateway(*(refused(503, "database_unavailable") for _ in range(3)))

    with pytest.raises(DatabaseUnavailableError):
        with_client(gateway, lambda client: client.run("run_1"), retries=2)

    assert len(gateway.requests) == 3


def test_a_refusal_that_lasts_is_not_asked_for_again(with_client: Callable[..., Any]) -> None:
    gateway = Gateway(refused(409, "already_ended"))

    with pytest.raises(ConflictError):
        with_client(gateway, lambda client: client.cancel("run_1"), retries=2)

    assert len(gateway.requests) == 1


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_the_line_end_of_a_key_is_no_part_of_it_and_a_key_that_no_header_takes_is_not_told(kind: Any) -> None:
    made = kind("http://gateway", "tw_key\n")
    assert made._http.headers["Authorization"] == "Bearer tw_key"
    for bad in ("tw_one\ntw_two", "tw_\u043a\u043b\u044e\u0447"):
        with pytest.raises(ConfigurationError, match="the key for the gateway has a character that no") as error:
            kind("http://gateway", bad)
        assert "tw_" not in str(error.value)


def test_an_idempotency_key_that_no_header_takes_is_refused(with_client: Callable[..., Any]) -> None:
    with pytest.raises(InvalidRequestError, match="expected visible ASCII characters"):
        with_client(Gateway(), lambda client: client.cancel("run_1", idempotency_key="a\nb"))


def test_half_of_a_surrogate_pair_is_refused(with_client: Callable[..., Any]) -> None:
    for use in (
        lambda client: client.run("caf\udce9"),
        lambda client: client.runs(q="caf\udce9"),
        lambda client: client.runs(tag="caf\udce9"),
    ):
        with pytest.raises(InvalidRequestError, match="holds half of a surrogate pair"):
            with_client(Gateway(), use)
    with pytest.raises(ConfigurationError, match="expected http://HOST:PORT"):
        Client("http://caf\udce9")


def test_all_pages_are_one_iterator(with_client: Callable[..., Any]) -> None:
    gateway = Gateway(
        httpx2.Response(200, json={"items": [run_json(id="run_2")], "next_cursor": "then"}),
        httpx2.Response(200, json={"items": [run_json()], "next_cursor": None}),
    )

    runs = with_client(gateway, lambda client: client.all_runs(status="running", limit=1))

    assert [run.id for run in runs] == ["run_2", "run_1"]
    asked = [dict(request.url.params) for request in gateway.requests]
    assert asked == [{"status": "running", "limit": "1"}, {"status": "running", "limit": "1", "cursor": "then"}]


def event(seq: int, type: str, **more: Any) -> str:
    told = {"seq": seq, "type": type, "at": "2026-11-23T00:20:15Z", "run": "run_1", **more}
    return f"id: {seq}\nevent: {type}\ndata: {json.dumps(told)}\n\n"


def test_events_are_read_by_their_kind_over_several_connections(with_client: Callable[..., Any]) -> None:
    delta = {"type": "llm.delta", "run": "run_1", "ask": "a", "attempt": 1, "offset": 0, "text": "he"}
    stream = {"Content-Type": "text/event-stream"}
    first = event(1, "run.accepted", **{"try": 2}) + f"data: {json.dumps(delta)}\n\n"
    then = 'data: {"type": "of.tomorrow", "x": 1}\n\n' + event(2, "run.completed")
    gateway = Gateway(
        httpx2.Response(200, headers=stream, content=first.encode()),
        found(),
        httpx2.Response(200, headers=stream, content=then.encode()),
        found(finished_at="2026-11-23T00:20:16Z", last_event=2),
    )

    events = with_client(gateway, lambda client: client.events("run_1", text=True))

    assert [type(one) for one in events] == [EventView, DeltaView, UnknownNotice, EventView]
    assert (events[0].candidate, events[1].text, events[2].model_extra, events[3].seq) == (2, "he", {"x": 1}, 2)
    assert [request.headers.get("last-event-id") for request in gateway.requests] == ["0", None, "1", None]


def test_events_go_on_behind_a_proxy_whose_gateways_restart_and_after_too_many_requests(
    with_client: Callable[..., Any],
) -> None:
    stream = {"Content-Type": "text/event-stream"}
    gateway = Gateway(
        *(httpx2.Response(status, text="<html>") for status in (502, 503, 504)),
        refused(429, "too_many_requests", **{"Retry-After": "1"}),
        httpx2.Response(429, text="<html>"),
        httpx2.Response(200, headers=stream, content=event(1, "run.completed").encode()),
        found(finished_at="2026-11-23T00:20:16Z", last_event=1),
    )
    times: list[float] = []

    def serve(request: httpx2.Request) -> httpx2.Response:
        times.append(time.monotonic())
        return gateway(request)

    events = with_client(serve, lambda client: client.events("run_1"))

    assert [one.seq for one in events] == [1]
    assert times[4] - times[3] >= 1.0


@pytest.mark.parametrize(
    "asked",
    [
        {"Retry-After": "3600"},
        {"Retry-After": "Sat, 28 Nov 2026 13:00:00 GMT", "Date": "Sat, 28 Nov 2026 12:00:00 GMT"},
    ],
    ids=["seconds", "a date"],
)
def test_events_are_given_up_at_once_where_retry_after_ends_behind_the_patience(
    with_client: Callable[..., Any], asked: dict[str, str]
) -> None:
    gateway = Gateway(refused(429, "too_many_requests", **asked))

    with pytest.raises(QuotaExceededError, match="because") as caught:
        with_client(gateway, lambda client: client.events("run_1", patience=60))

    assert (caught.value.code, caught.value.retry_after) == ("too_many_requests", 3600.0)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            {"status_code": 200, "html": "<html>"},
            "answered 200 with text/html; charset=utf-8, and not with a stream of",
        ),
        ({"status_code": 301, "headers": {"Location": "https://there"}}, "301 with a redirection to https://there"),
        ({"status_code": 204}, "answered 204 with nothing, and not with a stream of events; is it a gateway"),
    ],
)
def test_what_is_no_stream_of_events_is_told_at_once(
    with_client: Callable[..., Any], answer: dict[str, Any], said: str
) -> None:
    with pytest.raises(TurnwiseError, match=said):
        with_client(Gateway(httpx2.Response(**answer)), lambda client: client.events("run_1"))


@pytest.mark.parametrize("use", [lambda client: client.run("run_1"), lambda client: client.delete_webhook("hook_1")])
def test_a_redirection_is_an_error_that_tells_where_it_leads(with_client: Callable[..., Any], use: Use) -> None:
    gateway = Gateway(httpx2.Response(301, headers={"Location": "https://there"}))

    with pytest.raises(TurnwiseError, match="answered 301 with a redirection to https://there; is it a gateway"):
        with_client(gateway, use, 3)


def test_a_deletion_returns_nothing_and_metrics_are_text(with_client: Callable[..., Any]) -> None:
    assert with_client(Gateway(httpx2.Response(204)), lambda client: client.delete_session("s")) is None
    text = httpx2.Response(200, text="turnwise_runs 1\n")
    assert with_client(Gateway(text), lambda client: client.metrics()) == "turnwise_runs 1\n"


def test_times_are_sent_with_their_offset(with_client: Callable[..., Any]) -> None:
    at = datetime(2026, 11, 23, tzinfo=UTC)
    page = {"matched": 0, "changed": 0, "runs": [], "refused": [], "created_before": "2026-11-23T00:00:00Z"}
    gateway = Gateway(
        httpx2.Response(200, json={"items": [], "next_cursor": None}),
        httpx2.Response(200, json=page | {"next_cursor": None}),
    )

    with_client(gateway, lambda client: client.runs(created_after=at))
    with_client(gateway, lambda client: client.cancel_runs({"created_before": at}))

    assert gateway.requests[0].url.params["created_after"] == "2026-11-23T00:00:00+00:00"
    assert json.loads(gateway.requests[1].content)["filter"] == {"created_before": "2026-11-23T00:00:00+00:00"}
