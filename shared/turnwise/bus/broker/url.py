"""The broker's address: which broker it is, and how to show it without its password."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from turnwise.bus.broker.connections import explained
from turnwise.errors import BrokerUnavailableError, ConfigurationError

_KINDS: dict[str, Literal["rabbitmq", "redis"]] = {
    "amqp": "rabbitmq",
    "amqps": "rabbitmq",
    "redis": "redis",
    "rediss": "redis",
}

_OVER_TLS = ("amqps", "rediss")

# Seconds. Without a limit, an operation on a connection that died silently waits for ever.
CONNECT_TIMEOUT = 4.0
ANSWER_TIMEOUT = 10.0
# Seconds between the heartbeats of a connection that waits for messages. The broker may ask for a shorter interval.
HEARTBEAT = 10.0


@dataclass(frozen=True, kw_only=True)
class TLSFiles:
    """Files in PEM for amqps:// and rediss://: who is trusted (default: whom the system trusts), and who we are."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def check(self) -> None:
        """Raise `ConfigurationError` for a file that is missing or is no such thing."""
        if self.key is not None and self.cert is None:
            raise ConfigurationError("TURNWISE_BROKER_KEY is set, but TURNWISE_BROKER_CERT is not; set both")
        # No connection is made with it, so it need not hold whom the system trusts, which takes 40 ms to read.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            if self.ca is not None:
                context.load_verify_locations(self.ca)
            if self.cert is not None:
                context.load_cert_chain(self.cert, self.key)
        except OSError as error:  # SSLError is one
            raise ConfigurationError(
                f"TURNWISE_BROKER_CA, _CERT or _KEY cannot be used ({error}); expected files in PEM"
            ) from error


@dataclass(frozen=True, kw_only=True)
class BrokerURL:
    """A broker's URL, taken apart as far as the bus needs it; `repr` and `safe` hide the password."""

    url: str
    kind: Literal["rabbitmq", "redis"]
    tls: TLSFiles = TLSFiles()

    @classmethod
    def parse(cls, url: str, tls: TLSFiles | None = None) -> BrokerURL:
        """Raises `ConfigurationError` for anything but amqp(s):// and redis(s)://, and for unusable files."""
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError as error:
            raise ConfigurationError(
                f"TURNWISE_BROKER_URL cannot be read ({error}); expected for instance amqp://USER:PASSWORD@HOST:5672//"
            ) from error
        scheme = parts.scheme
        if scheme not in _KINDS:
            raise ConfigurationError(
                f"TURNWISE_BROKER_URL begins with {scheme!r}; expected amqp://, amqps:// (RabbitMQ), redis:// or "
                "rediss:// (Redis), for instance amqp://USER:PASSWORD@HOST:5672//"
            )
        if _KINDS[scheme] == "redis" and parts.path.strip("/") and not parts.path.strip("/").isdigit():
            raise ConfigurationError(
                f"TURNWISE_BROKER_URL ends with {parts.path!r}; expected the number of a database, for instance "
                "redis://host:6379/0"
            )
        if tls not in (None, TLSFiles()) and scheme not in _OVER_TLS:
            raise ConfigurationError(
                f"TURNWISE_BROKER_CA, _CERT or _KEY are set, but TURNWISE_BROKER_URL begins with {scheme}://, which is "
                "not encrypted; write amqps:// or rediss://"
            )
        found = tls or TLSFiles()
        found.check()
        return cls(url=url, kind=_KINDS[scheme], tls=found)

    @property
    def is_rabbitmq(self) -> bool:
        """Return whether the broker is RabbitMQ, with quorum queues, confirms and `mandatory`."""
        return self.kind == "rabbitmq"

    @property
    def ssl_options(self) -> dict[str, Any] | bool:
        """Return what kombu is told of TLS: the broker's certificate and its name are always checked. False: none."""
        parts = urlsplit(self.url)
        if parts.scheme not in _OVER_TLS:
            return False
        required = {"cert_reqs": ssl.CERT_REQUIRED}
        files = {"ca_certs": self.tls.ca, "certfile": self.tls.cert, "keyfile": self.tls.key}
        options = {**required, **{name: str(file) for name, file in files.items() if file is not None}}
        if self.is_rabbitmq:
            return {**options, "server_hostname": parts.hostname}
        return {**{f"ssl_{name}": value for name, value in options.items()}, "ssl_check_hostname": True}

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
        found, cure = explained(reason, program, over_tls=urlsplit(self.url).scheme in _OVER_TLS)
        return BrokerUnavailableError(
            f"The broker at {self.safe} {found} ({type(reason).__name__}: {reason}). {cure[:1].upper()}{cure[1:]}"
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
