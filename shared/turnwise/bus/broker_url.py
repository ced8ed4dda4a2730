"""The broker's address: which broker it is, and how to show it without its password."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from turnwise.errors import BrokerUnavailableError, ConfigurationError

_KINDS: dict[str, Literal["rabbitmq", "redis"]] = {
    "amqp": "rabbitmq",
    "amqps": "rabbitmq",
    "redis": "redis",
    "rediss": "redis",
}

# Seconds. Without a limit, an operation on a connection that died silently waits for ever.
CONNECT_TIMEOUT = 4.0
ANSWER_TIMEOUT = 10.0


@dataclass(frozen=True, kw_only=True)
class BrokerURL:
    """A broker's URL, taken apart as far as the bus needs it; `repr` and `safe` hide the password."""

    url: str
    kind: Literal["rabbitmq", "redis"]

    @classmethod
    def parse(cls, url: str) -> BrokerURL:
        """Raises `ConfigurationError` for anything but amqp(s):// and redis(s)://."""
        scheme = urlsplit(url).scheme
        if scheme not in _KINDS:
            raise ConfigurationError(
                f"TURNWISE_BROKER_URL begins with {scheme!r}; expected amqp://, amqps:// (RabbitMQ), redis:// or "
                "rediss:// (Redis), for instance amqp://user:password@host:5672//"
            )
        return cls(url=url, kind=_KINDS[scheme])

    @property
    def is_rabbitmq(self) -> bool:
        """Whether quorum queues, confirms and `mandatory` are to be had."""
        return self.kind == "rabbitmq"

    @property
    def safe(self) -> str:
        """The URL for people: without its password and without its query."""
        parts = urlsplit(self.url)
        user, at, host = parts.netloc.rpartition("@")
        name, colon, _ = user.partition(":")
        return f"{parts.scheme}://{name}{':***' if colon else ''}{at}{host}{parts.path}"

    def __repr__(self) -> str:
        return f"BrokerURL({self.safe!r})"

    def unavailable(self, reason: object) -> BrokerUnavailableError:
        """The error that says which broker failed, why, and what to do."""
        program = "RabbitMQ" if self.is_rabbitmq else "Redis"
        return BrokerUnavailableError(
            f"The broker at {self.safe} does not answer ({type(reason).__name__}: {reason}). Start {program} there, or "
            "set TURNWISE_BROKER_URL to the right address, user and password"
        )

    def publishing_options(self, *, confirm: bool) -> dict[str, Any]:
        """kombu's transport options for a connection that publishes; `confirm` has a meaning on RabbitMQ only."""
        # kombu would wait for two seconds before its second try; the publisher has a retry of its own.
        at_once = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
        if self.is_rabbitmq:
            limits = {"read_timeout": ANSWER_TIMEOUT, "write_timeout": ANSWER_TIMEOUT}
            return {"confirm_publish": confirm, **limits, **at_once}
        return {**self.consuming_options(), **at_once}

    def consuming_options(self) -> dict[str, Any]:
        """kombu's transport options for a connection that waits for messages."""
        if self.is_rabbitmq:
            return {"confirm_publish": True}
        return {
            "socket_timeout": ANSWER_TIMEOUT,
            "socket_connect_timeout": CONNECT_TIMEOUT,
            "socket_keepalive": True,
            "health_check_interval": 5,
        }
