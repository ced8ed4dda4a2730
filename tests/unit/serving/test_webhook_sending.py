"""Requests of webhooks: to addresses that are allowed, without redirects, and within a time."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.support.certificates import Authority
from tests.support.receiver import Reply, WebhookReceiver

from turnwise.errors import ForbiddenAddressError, InvalidWebhookError
from turnwise.record.webhooks.secrets import known_secret, new_secret
from turnwise.serving.webhooks.addresses import AddressRules
from turnwise.serving.webhooks.backoff import next_wait
from turnwise.serving.webhooks.sending import HttpSender
from turnwise.serving.webhooks.signature import signed_headers

HERE = (ip_network("127.0.0.0/8"),)
FORBIDDEN = [
    "127.0.0.1",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "0.0.0.0",
    "100.64.0.1",
    "192.0.0.8",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "::1",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "fd00::1",
    "ff02::1",
    "2001:db8::1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "::7f00:1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
]


def rules(*answers: Sequence[str], **changes: object) -> AddressRules:
    """Rules with a resolver that gives one answer after the other, and the last one from then on."""
    left = list(answers)

    def resolve(host: str, port: int) -> Sequence[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    return AddressRules(resolve=resolve, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("address", FORBIDDEN)
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    with pytest.raises(ForbiddenAddressError, match="TURNWISE_WEBHOOK_ALLOWED_NETWORKS"):
        rules([address]).check("https://example.com/hook")
    # also as one of several
    with pytest.raises(ForbiddenAddressError):
        rules(["1.1.1.1", address]).check("https://example.com/hook")


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"])
def test_public_addresses_are_allowed(address: str) -> None:
    assert rules([address]).check("https://example.com:8443/hook?a=1") == "https://example.com:8443"


def test_a_network_can_be_allowed(tmp_path: Path) -> None:
    allowed = (ip_network("10.1.0.0/16"),)
    assert rules(["10.1.2.3"], allowed=allowed).check("https://inside/hook") == "https://inside:443"
    assert rules(["::ffff:10.1.2.3"], allowed=allowed).check("https://inside/hook")
    with pytest.raises(ForbiddenAddressError):
        rules(["10.2.0.1"], allowed=allowed).check("https://inside/hook")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "ftp://example.com/",
        "example.com/hook",
        "https://",
        "https:///hook",
        "https://user:word@example.com/",
        "https://example.com/#part",
        "https://example.com:99999/",
        "https://[::1/",
        "https://[2001:4860:4860::8888]x:443/",
        "https://exämple.com/",
        "https://example.com/a b",
        "https://example.com/" + "a" * 2_048,
    ],
)
def test_a_url_that_cannot_be_used_is_refused_before_it_is_looked_up(url: str) -> None:
    with pytest.raises(InvalidWebhookError):
        rules(["1.1.1.1"]).check(url)


def test_a_host_that_is_not_found_is_refused() -> None:
    with pytest.raises(InvalidWebhookError, match="not found"):
        AddressRules().check("https://nohost.invalid/")
    # a number is an address, too
    with pytest.raises(ForbiddenAddressError):
        AddressRules().check("https://2130706433/")


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as made:
        yield made


def test_the_answer_of_the_dns_at_the_request_counts_and_not_the_one_before(receiver: WebhookReceiver) -> None:
    # given a host that was public when the webhook was made, and the next time is not
    changing = rules(["1.1.1.1"], ["127.0.0.1"], allow_http=True)
    url = f"http://rebinding.example:{receiver.port}/"
    changing.check(url)
    found = HttpSender(changing, 5.0)(url, {}, "{}")
    assert not found.delivered
    assert found.error is not None
    assert "127.0.0.1, which is not public" in found.error
    assert receiver.received == []


def test_one_look_up_serves_the_check_and_the_connection(receiver: WebhookReceiver) -> None:
    # given a host whose second answer is another: the request goes to the address that was checked
    changing = rules(["127.0.0.1"], ["127.0.0.2"], allow_http=True, allowed=HERE)
    found = HttpSender(changing, 5.0)(f"http://changing.example:{receiver.port}/hook", {"webhook-id": "m"}, "{}")
    assert found.delivered
    assert found.status_code == 204
    (request,) = receiver.received
    assert request.headers["host"] == f"changing.example:{receiver.port}"


def test_a_redirect_is_not_followed(receiver: WebhookReceiver) -> None:
    receiver.answer = lambda _: Reply(status=307, headers={"Location": receiver.url})
    found = _sender()(receiver.url, {}, "{}")
    assert (found.delivered, found.status_code, len(receiver.received)) == (False, 307, 1)
    assert found.error is not None
    assert "redirects are not followed" in found.error


def test_the_host_of_the_url_has_to_show_its_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    shown = authority.vouch_for("server", "DNS:hooks.example")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(shown.cert, shown.key)
    trusting = ssl.create_default_context(cafile=str(authority.cert))
    with WebhookReceiver(tls=server) as receiver:
        send = HttpSender(rules(["127.0.0.1"], allowed=HERE), 5.0, lambda: trusting)
        assert send(f"https://hooks.example:{receiver.port}/", {}, "{}").delivered
        other = send(f"https://other.example:{receiver.port}/", {}, "{}")
        assert other.error is not None
        assert "certificate" in other.error.lower()
        assert len(receiver.received) == 1


def test_an_answer_that_drips_ends_with_the_time_of_the_request(receiver: WebhookReceiver) -> None:
    # given an answer whose bytes come one by one, each of them in time
    ended = threading.Event()
    receiver.answer = lambda _: Reply(status=200, drip=ended)
    began = time.monotonic()
    found = _sender(0.5)(receiver.url, {}, "{}")
    ended.set()
    # then the status counts, and the rest is not waited for
    assert found.delivered
    assert time.monotonic() - began < 5

    # and one that does not come at all is a failure
    silent = threading.Event()

    def hold(_: object) -> Reply:
        silent.wait(10)
        return Reply()

    receiver.answer = hold
    assert _sender(0.3)(receiver.url, {}, "{}").error == "no answer within 0.3 s"
    silent.set()


@pytest.mark.parametrize(("status", "gone"), [(200, False), (400, False), (410, True), (503, False)])
def test_only_success_is_a_delivery(receiver: WebhookReceiver, status: int, gone: bool) -> None:
    receiver.answer = lambda _: Reply(status=status, headers={"Retry-After": "120"}, body=b"x" * 9_000 + b"\x00\xff")
    found = _sender()(receiver.url, {}, "{}")
    assert (found.delivered, found.gone) == (status == 200, gone)
    assert found.retry_after == (None if status == 200 else 120)
    assert found.response is not None
    assert len(found.response) == 1_000


@pytest.mark.parametrize(
    ("date", "asked"),
    [
        ("Thu, 26 Nov 2026 18:30:00 GMT", 1_800),
        ("Thu, 26 Nov 2026 23:00:00 GMT", 3_600),  # at most an hour
        ("Thu, 26 Nov 2026 17:00:00 GMT", 0),
        ("soon", None),
        ("Thu, 26 Nov 2026 18:30:00 +99999999999999999", None),
    ],
)
def test_a_receiver_may_name_the_time_of_the_next_attempt(
    receiver: WebhookReceiver, date: str, asked: float | None
) -> None:
    headers = {"Date": "Thu, 26 Nov 2026 18:00:00 GMT", "Retry-After": date}
    receiver.answer = lambda _: Reply(status=503, headers=headers)
    assert _sender()(receiver.url, {}, "{}").retry_after == asked


def test_an_address_of_version_6_stands_in_brackets_in_the_host(receiver: WebhookReceiver) -> None:
    port = urlsplit(receiver.url).port
    send = HttpSender(rules(["127.0.0.1"], allowed=HERE, allow_http=True), 5.0)
    assert send(f"http://[2001:4860:4860::8888]:{port}/hook", {}, "{}").delivered
    [received] = receiver.received
    assert received.headers["host"] == f"[2001:4860:4860::8888]:{port}"


def test_no_one_listens() -> None:
    with WebhookReceiver() as receiver:
        url = receiver.url
    found = _sender()(url, {}, "{}")
    assert found.error is not None
    assert "refused" in found.error


def test_a_message_is_signed_with_each_secret(receiver: WebhookReceiver) -> None:
    old, new, foreign = new_secret(), new_secret(), new_secret()
    body = '{"type": "run.completed"}'
    headers = signed_headers("msg_1", body, (new, old), datetime.now(UTC).timestamp())
    assert _sender()(receiver.url, headers, body).delivered
    (request,) = receiver.received
    assert request.id == "msg_1"
    assert request.verified(old) == request.verified(new) == {"type": "run.completed"}
    with pytest.raises(Exception, match="No matching signature"):
        request.verified(foreign)


@pytest.mark.parametrize("text", ["", "word", "whsec_", "whsec_!!!!", "whsec_c2hvcnQ=", "whsec_" + "QUFB" * 30])
def test_a_malformed_secret_is_refused(text: str) -> None:
    with pytest.raises(InvalidWebhookError, match="whsec_ and 24 to 64 bytes"):
        known_secret(text)


@pytest.mark.parametrize("id", ["msg_1", "msg_2", "msg_3"])
def test_waits_double_up_to_an_hour_and_end_after_a_day(id: str) -> None:
    tried_for = 0.0
    for attempt in range(1, 30):
        wait = next_wait(id, attempt, tried_for, 86_400.0, None)
        most = min(5.0 * 2 ** (attempt - 1), 3_600.0)
        assert wait is not None
        assert most / 2 <= wait <= most
        tried_for += wait
    # then deliveries that failed together are spread
    assert len({next_wait(f"msg_{n}", 5, 900.0, 86_400.0, None) for n in range(20)}) == 20
    assert next_wait("msg_1", 1, 0.0, 86_400.0, 600.0) == 600.0
    assert next_wait("msg_1", 40, 86_400.0, 86_400.0, 600.0) is None


def test_a_replay_begins_with_short_waits_again_whatever_its_attempts() -> None:
    waits: list[float] = []
    for attempt in range(30, 42):
        wait = next_wait("msg_1", attempt, sum(waits), 86_400.0, None)
        assert wait is not None
        waits.append(wait)
    assert waits[0] <= 5.0
    assert all(later <= 5.0 + 2 * sum(waits[:no]) for no, later in enumerate(waits))
    assert max(waits) > 1_800.0
    assert 2.5 <= (next_wait("msg_1", 30, -1.0, 86_400.0, None) or 0.0) <= 5.0  # a clock that was set back


def _sender(timeout: float = 5.0) -> HttpSender:
    return HttpSender(AddressRules(allowed=HERE, allow_http=True), timeout)
