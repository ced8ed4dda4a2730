"""Look-ups of webhooks' hosts: within a time, and beside whatever else the gateway does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence

import pytest

from turnwise.errors import ForbiddenAddressError, InvalidWebhookError
from turnwise.serving.webhooks.addresses import AddressRules
from turnwise_gateway.host_look_ups import HostLookUps


class NameServer:
    """Answers at once, but for hosts that begin with slow: those wait until it is released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host.startswith("slow"):
            self.released.wait(30)
        return ["10.0.0.1"] if host.startswith("inner") else ["1.1.1.1"]


@pytest.fixture
def server() -> Iterator[NameServer]:
    made = NameServer()
    yield made
    made.released.set()


async def _outcomes(look_ups: HostLookUps, server: NameServer, tenant: str, *hosts: str) -> list[str | BaseException]:
    rules = AddressRules(resolve=server)
    wanted = [look_ups.origin(rules, f"https://{host}/hook", tenant) for host in hosts]
    return await asyncio.gather(*wanted, return_exceptions=True)


def test_a_host_is_looked_up_and_what_is_wrong_with_it_is_raised(server: NameServer) -> None:
    found, inner, wrong = asyncio.run(_outcomes(HostLookUps(), server, "acme", "fine.example", "inner.example", ""))

    assert found == "https://fine.example:443"
    assert isinstance(inner, ForbiddenAddressError)
    assert isinstance(wrong, InvalidWebhookError)
    # What can be seen in the URL itself is refused without a look-up.
    assert sorted(server.asked) == ["fine.example", "inner.example"]


def test_a_host_that_is_not_found_in_time_is_refused(server: NameServer) -> None:
    (refused,) = asyncio.run(_outcomes(HostLookUps(seconds=0.1), server, "acme", "slow.example"))

    assert isinstance(refused, InvalidWebhookError)
    assert "'slow.example' of the webhook could not be looked up within 0.1 s" in str(refused)


def test_a_tenant_with_a_slow_name_server_leaves_room_for_others(server: NameServer) -> None:
    look_ups = HostLookUps(threads=4, seconds=0.3)

    async def both() -> tuple[list[str | BaseException], list[str | BaseException]]:
        slow = asyncio.create_task(_outcomes(look_ups, server, "acme", *(f"slow{n}.example" for n in range(9))))
        await asyncio.sleep(0.1)
        return await _outcomes(look_ups, server, "other", "a.example", "b.example", "c.example"), await slow

    fine, slow = asyncio.run(both())

    assert fine == [f"https://{name}.example:443" for name in "abc"]
    assert all(isinstance(one, InvalidWebhookError) for one in slow)
    assert len([host for host in server.asked if host.startswith("slow")]) == 2


def test_a_look_up_that_was_given_up_on_makes_room_once_it_ends(server: NameServer) -> None:
    look_ups = HostLookUps(threads=2, seconds=0.5)

    async def one_after_the_other() -> list[str | BaseException]:
        outcomes = await _outcomes(look_ups, server, "acme", "slow.example")
        outcomes += await _outcomes(look_ups, server, "acme", "fine.example")
        server.released.set()
        return outcomes + await _outcomes(look_ups, server, "acme", "fine.example")

    given_up, no_room, found = asyncio.run(one_after_the_other())

    assert isinstance(given_up, InvalidWebhookError)
    assert isinstance(no_room, InvalidWebhookError)
    assert found == "https://fine.example:443"
