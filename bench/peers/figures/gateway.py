"""A gateway, and requests to it over connections that stay open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from urllib.error import URLError
from urllib.request import urlopen

from tests.e2e.processes import free_port
from tests.e2e.waiting import until
from tests.support.brokers import fresh_rabbitmq
from tests.support.databases import fresh_postgres

from bench import distributed
from turnwise.record.store import Store


class Submitter:
    """One client's connection."""

    def __init__(self, address: str) -> None:
        self._connection = HTTPConnection(address, timeout=60)
        self._headers = {"Content-Type": "application/json"}

    def submit(self, message: str) -> str:
        """Begin a conversation; return its run's id. Raises `RuntimeError` if it is not accepted."""
        body = json.dumps({"task": "loop", "message": message})
        self._connection.request("POST", "/v1/runs", body, self._headers)
        response = self._connection.getresponse()
        told = response.read()
        if response.status != 202:
            raise RuntimeError(f"the gateway answered {response.status}: {told[:500]!r}")
        return str(json.loads(told)["id"])

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@contextmanager
def gateway(
    *others: Sequence[str], app: str = "bench.tool_loop:app", variables: Mapping[str, str] | None = None
) -> Iterator[tuple[str, Store]]:
    """Start a gateway and other services; return its address once it answers, and the record."""
    address = f"127.0.0.1:{free_port()}"
    given = {"TURNWISE_BIND": address, **(variables or {})}
    with (
        fresh_postgres() as database,
        fresh_rabbitmq() as broker,
        distributed.running(database, broker, services=[["gateway"], *others], app=app, variables=given) as services,
    ):
        until(lambda: _answers(f"http://{address}/health/ready"), "the gateway", patience=180)
        yield address, services.store


def _answers(url: str) -> bool:
    with suppress(URLError, OSError), urlopen(url, timeout=5):
        return True
    return False
