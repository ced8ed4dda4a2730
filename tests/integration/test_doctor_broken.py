"""`turnwise doctor` in set-ups that are broken in one way each: it says what, and the cure, and never breaks itself.

Servers are real: PostgreSQL, RabbitMQ and Redis where they are needed, and sockets that misbehave.
"""

from __future__ import annotations

import itertools
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit, urlunsplit

import pytest
from alembic import command
from sqlalchemy.engine import make_url
from tests.e2e.processes import free_port
from tests.support.brokers import AMQP_URL, REDIS_URL
from tests.support.cli import Terminal, terminal
from tests.support.databases import fresh_sqlite, postgres_server

from turnwise.cli.doctor import examine
from turnwise.record.database.database import Database
from turnwise.record.database.migration import config

__all__ = ["terminal"]


_numbers = itertools.count()


@dataclass
class Place:
    """The place of a broken set-up: a folder with a good record, and what has to be closed again."""

    folder: Path
    open: ExitStack = field(default_factory=ExitStack)

    def module(self, name: str, text: str) -> dict[str, str]:
        own = f"{name}_{next(_numbers)}"  # a module that was imported once stays as it is
        (self.folder / f"{own}.py").write_text(text)
        return {"APP": f"{own}:app"}

    def file(self, name: str, content: bytes = b"") -> str:
        (self.folder / name).write_bytes(content)
        return str(self.folder / name)


@contextmanager
def silent_server() -> Iterator[int]:
    """A port that accepts and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@contextmanager
def web_server(answer: bytes, status: int = 200) -> Iterator[int]:
    """A server that answers everything with that."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def impatient(place: Place) -> None:
    """Wait a second for servers that never answer, instead of up to twenty."""
    place.open.enter_context(patch("turnwise.bus.broker.checkup.CONNECT_TIMEOUT", 1.0))
    for name in ("CONNECT_TIMEOUT", "ANSWER_TIMEOUT"):
        place.open.enter_context(patch(f"turnwise.bus.broker.url.{name}", 1.0))


def postgres(**changes: object) -> str:
    return make_url(postgres_server()).set(**changes).render_as_string(hide_password=False)  # type: ignore[arg-type]


def rabbitmq(user: str = "guest:guest", end: str = "//", scheme: str = "amqp", port: int | None = None) -> str:
    parts = urlsplit(AMQP_URL)
    return urlunsplit((scheme, f"{user}@{parts.hostname}:{port or parts.port or 5672}", end, "", ""))


def redis(end: str = "/0", user: str = "", scheme: str = "redis") -> str:
    parts = urlsplit(REDIS_URL)
    return f"{scheme}://{user}{parts.hostname}:{parts.port or 6379}{end}"


def schema(place: Place, sql: str) -> dict[str, str]:
    database = Database(f"sqlite:///{place.folder / 'turnwise.db'}")
    with database.begin() as connection:
        for statement in sql.split(";"):
            connection.exec_driver_sql(statement)
    database.close()
    return {}


def old_schema(place: Place) -> dict[str, str]:
    database = Database(f"sqlite:///{place.folder / 'old.db'}")
    with database.begin() as connection:
        command.upgrade(config(connection), "0003")
    database.close()
    return {"DATABASE_URL": f"sqlite:///{place.folder / 'old.db'}"}


AGENT = """
from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task

app = App("office", version="2")


@app.task
def desk() -> Task:
    model = OpenAIGPTConfig(chat_model="homemade", api_base={url!r}, api_key="sk-secret-of-the-desk")
    return Task(ChatAgent(ChatAgentConfig(name="desk", llm=model)), interactive=False)
"""
AHEAD = "UPDATE alembic_version SET version_num = '9999'; UPDATE schema_support SET oldest_program = '9999'"
OIDC = {"AUTH": "keys", "OIDC_AUDIENCE": "turnwise"}


def agent_at(port: int, **settings: str) -> Callable[[Place], dict[str, str]]:
    return lambda place: place.module("an_office", AGENT.format(url=f"http://127.0.0.1:{port}/v1")) | settings


def refused_key(place: Place) -> dict[str, str]:
    return agent_at(place.open.enter_context(web_server(b"", 401)))(place)


def unpriced(place: Place) -> dict[str, str]:
    return agent_at(place.open.enter_context(web_server(b"{}")), MAX_COST="1")(place)


def named_model(name: str, **variables: str) -> Callable[[Place], dict[str, str]]:
    """An agent whose model's name says where it is, and that has no key."""

    def set_up(place: Place) -> dict[str, str]:
        place.open.enter_context(patch.dict(os.environ, variables))
        text = AGENT.replace('api_base={url!r}, api_key="sk-secret-of-the-desk"', "").replace("homemade", name)
        return place.module("an_office", text)

    return set_up


def keyless(place: Place) -> dict[str, str]:
    return named_model(f"local/127.0.0.1:{place.open.enter_context(web_server(b'', 401))}/v1")(place)


def issuer(answer: bytes) -> Callable[[Place], dict[str, str]]:
    return lambda place: OIDC | {"OIDC_ISSUER": f"http://127.0.0.1:{place.open.enter_context(web_server(answer))}"}


def silent(form: str, name: str) -> Callable[[Place], dict[str, str]]:
    def set_up(place: Place) -> dict[str, str]:
        impatient(place)
        return {name: form.format(place.open.enter_context(silent_server()))}

    return set_up


def unlike(url: str) -> Callable[[Place], dict[str, str]]:
    """A broker at which something else listens, which waits for more."""

    def set_up(place: Place) -> dict[str, str]:
        impatient(place)
        return {"BROKER_URL": url}

    return set_up


def env_file(place: Place, text: str) -> dict[str, str]:
    place.file(".env", text.encode())
    return {}


Broken = dict[str, str] | Callable[[Place], dict[str, str]]
# Its name, what is set, the finding's check, and words of what was found and of the cure.
BROKEN: list[tuple[str, Broken, str, str, str]] = [
    # settings
    ("mistyped setting", {"MAX_COTS": "2"}, "settings", "MAX_COTS is not a setting", "did you mean TURNWISE_MAX_COST?"),
    ("bad number", {"MAX_TURNS": "many"}, "settings", "TURNWISE_MAX_TURNS", "correct them"),
    ("open without a key", {"BIND": "0.0.0.0:80"}, "settings", "only for loopback", "TURNWISE_AUTH"),
    ("bind without a host", {"BIND": "8080"}, "settings", "TURNWISE_BIND", "expected HOST:PORT"),
    ("beats as long as leases", {"BEAT_SECONDS": "5"}, "settings", "LEASE_SECONDS", "at least three times"),
    ("weights that are no JSON", {"TENANT_WEIGHTS": "a=2"}, "settings", "TENANT_WEIGHTS is 'a=2'", "expected JSON"),
    ("line that cannot be read", lambda p: env_file(p, "TURNWISE_MAX_COST: 5"), "settings", "line 1", "MAX_COST=VALUE"),
    ("token without one", {"AUTH": "token"}, "settings", "needs TURNWISE_AUTH_TOKEN", "set it to a long random string"),
    ("no folder of secrets", {"SECRETS_DIR": "/no/such"}, "settings", "not a directory", "correct them"),
    # the application
    ("no application", {"APP": ""}, "application", "no application given", "set TURNWISE_APP"),
    ("no module", {"APP": "no_office:app"}, "application", "no module 'no_office'", "correct TURNWISE_APP"),
    ("no attribute", lambda p: p.module("empty_office", ""), "application", "names nothing", "as package.module:app"),
    ("raises", lambda p: p.module("raising", "1 / 0"), "application", "ZeroDivisionError", "what the module needs"),
    ("exits", lambda p: p.module("exiting", "raise SystemExit(3)"), "application", "SystemExit", "TURNWISE_APP"),
    (
        "factory raises",
        lambda p: p.module(
            "factory", "from turnwise import App\napp = App('x', version='1')\n@app.task\ndef desk():\n    1 / 0"
        ),
        "application",
        "division by zero",
        "correct TURNWISE_APP",
    ),
    # the database
    ("other database", {"DATABASE_URL": "mysql://x/y"}, "database", "mysql", "expected"),
    ("no file", {"DATABASE_URL": "sqlite:///missing.db"}, "database", "there is no file", "run `turnwise migrate`"),
    ("no folder", {"DATABASE_URL": "sqlite:////no/such/x.db"}, "database", "there is no file", "TURNWISE_DATABASE_URL"),
    (
        "file that is none",
        lambda p: {"DATABASE_URL": f"sqlite:///{p.file('text.db', b'hello, I am a text, no database ' * 99)}"},
        "database",
        "not a database",
        "TURNWISE_DATABASE_URL",
    ),
    ("old schema", old_schema, "schema", "0003", "run `turnwise migrate`"),
    ("new schema", lambda p: schema(p, AHEAD), "schema", "9999", "update it"),
    ("postgres: no name", {"DATABASE_URL": "postgresql://u:secret-word@h"}, "database", "names no", "/DATABASE"),
    (
        "postgres: nobody at the port",
        lambda p: {"DATABASE_URL": postgres(port=free_port())},
        "database",
        "does not answer",
        "start PostgreSQL",
    ),
    (
        "postgres: no such database",
        lambda p: {"DATABASE_URL": postgres(database="tw_no_such")},
        "database",
        "does not exist",
        "create it",
    ),
    (
        "postgres: no such user",
        lambda p: {"DATABASE_URL": postgres(username="tw_nobody")},
        "database",
        "no such user",
        "correct the user",
    ),
    (
        "postgres: no such host",
        lambda p: {"DATABASE_URL": postgres(host="no-such-host.invalid")},
        "database",
        "host",
        "correct TURNWISE_DATABASE_URL",
    ),
    (
        "postgres: TLS to a server without",
        lambda p: {"DATABASE_URL": postgres(query={"sslmode": "require"})},
        "database",
        "TLS",
        "correct sslmode",
    ),
    (
        "postgres: says nothing",
        silent("postgresql://u:secret-word@127.0.0.1:{}/x", "DATABASE_URL"),
        "database",
        "does not answer",
        "start PostgreSQL",
    ),
    # the broker
    ("broker: scheme", {"BROKER_URL": "kafka://x"}, "broker", "begins with 'kafka'", "expected amqp://"),
    ("broker: port", {"BROKER_URL": "amqp://x:port/"}, "broker", "cannot be read", "amqp://USER:PASSWORD@HOST"),
    ("rabbitmq: password", {"BROKER_URL": rabbitmq("guest:wrong-word")}, "broker", "refuses the", "correct user and"),
    ("rabbitmq: vhost", {"BROKER_URL": rabbitmq(end="/no-such")}, "broker", "virtual host", "rabbitmqctl add_vhost"),
    (
        "rabbitmq: nobody at the port",
        lambda p: {"BROKER_URL": rabbitmq(port=free_port())},
        "broker",
        "does not answer",
        "start RabbitMQ",
    ),
    ("rabbitmq: TLS to a port without", unlike(rabbitmq(scheme="amqps")), "broker", "The broker at", "TLS"),
    ("rabbitmq: at Redis", unlike(redis(scheme="amqp")), "broker", "broker at", "BROKER_URL"),
    ("rabbitmq: says nothing", silent("amqp://:secret-word@127.0.0.1:{}//", "BROKER_URL"), "broker", "answer", "start"),
    ("redis: no host", {"BROKER_URL": "redis://no-such-host.invalid/0"}, "broker", "The broker", "TURNWISE_BROKER_URL"),
    ("redis: password", {"BROKER_URL": redis(user="nobody:wrong-word@")}, "broker", "refuses", "correct user and"),
    ("redis: number", {"BROKER_URL": redis("/999")}, "broker", "no database of that number", "0 to 15"),
    ("redis: name", {"BROKER_URL": redis("/abc")}, "broker", "'/abc'", "expected the number of a database"),
    ("redis: TLS to a port without", unlike(redis(scheme="rediss")), "broker", "TLS", "speaks TLS"),
    ("redis: says nothing", silent("redis://127.0.0.1:{}/0", "BROKER_URL"), "broker", "does not answer", "start Redis"),
    ("CA without TLS", {"BROKER_URL": redis(), "BROKER_CA": "x"}, "broker", "not encrypted", "write amqps://"),
    (
        "CA that is not there",
        {"BROKER_URL": redis(scheme="rediss"), "BROKER_CA": "missing.pem"},
        "broker",
        "cannot be used",
        "expected files in PEM",
    ),
    (
        "key without certificate",
        {"BROKER_URL": redis(scheme="rediss"), "BROKER_KEY": "x"},
        "broker",
        "BROKER_CERT is not",
        "set both",
    ),
    ("short wire key", {"BROKER_URL": redis(), "WIRE_KEYS": '["short"]'}, "broker", "WIRE_KEYS", "at least 32"),
    # models
    ("model: nobody at the port", agent_at(1), "server http://127.0.0.1:1/v1", "does not answer", "OPENAI_BASE_URL"),
    ("model: key refused", refused_key, "server http", "refuses the API key (401)", "correct OPENAI_API_KEY"),
    (
        "model: key not set",
        named_model("groq/llama", GROQ_API_KEY=""),
        "server https://api.groq.com",
        "no API key is set",
        "set GROQ_API_KEY",
    ),
    ("model: key wanted", keyless, "server http", "it wants an API key (401), and none is set", "set the"),
    (
        "model: named server away",
        named_model("ollama/qwen3", OLLAMA_HOST="127.0.0.1:1"),
        "server http://127.0.0.1:1/v1",
        "does not answer",
        "correct OLLAMA_HOST",
    ),
    ("model: no price", unpriced, "price of homemade", "a limit of cost is set", "`input_price`"),
    # the gateway
    (
        "address of another",
        {"BIND": "192.0.2.1:80", "AUTH": "keys"},
        "address of the gateway",
        "cannot be listened",
        "set TURNWISE_BIND",
    ),
    (
        "address in use",
        lambda p: {"BIND": f"127.0.0.1:{p.open.enter_context(web_server(b'', 404))}"},
        "address of the gateway",
        "another program",
        "stop that program",
    ),
    ("issuer away", OIDC | {"OIDC_ISSUER": "http://127.0.0.1:1"}, "issuer http", "cannot be fetched", "OIDC_ISSUER"),
    ("issuer that talks", issuer(b"hello"), "issuer http", "other than JSON", "correct TURNWISE_OIDC_ISSUER"),
    ("issuer without keys at hand", issuer(b"{}"), "issuer http", "no `jwks_uri`", "TURNWISE_OIDC_JWKS_URL"),
    ("rates away", {"RATE_STORAGE_URL": "redis://127.0.0.1:1/0"}, "request rates", "cannot be used", "start Redis"),
    ("rates elsewhere", {"RATE_STORAGE_URL": "http://x"}, "request rates", "cannot be used", "for instance redis://"),
]  # fmt: skip


@pytest.fixture
def place(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A folder with a record as `migrate` leaves it, an application without a model, and nothing set."""
    fresh_sqlite(terminal.folder / "turnwise.db").close()
    monkeypatch.setenv("TURNWISE_BIND", f"127.0.0.1:{free_port()}")
    found = Place(terminal.folder)
    with found.open:
        yield found


@pytest.mark.postgres
@pytest.mark.rabbitmq
@pytest.mark.parametrize(
    ("broken", "check", "said", "mend"), [row[1:] for row in BROKEN], ids=[row[0].replace(" ", "-") for row in BROKEN]
)
def test_a_broken_set_up_is_named_with_its_cure(
    place: Place, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, broken: Broken, check: str, said: str, mend: str
) -> None:
    for name, value in (broken(place) if callable(broken) else broken).items():
        monkeypatch.setenv(f"TURNWISE_{name}", value)

    told = json.loads(terminal.printed("doctor", "--json", code=1))

    findings = told["findings"]
    named = [each for each in findings if each["check"].startswith(check) and each["level"] == "fault"]
    assert told["ok"] is False
    assert len(named) == 1, findings
    assert said in named[0]["said"], named
    assert mend.lower() in f"{named[0]['said']} {named[0]['mend']}".lower(), named
    assert not any("this check failed" in each["said"] for each in findings), findings
    assert "secret-word" not in str(findings) and "wrong-word" not in str(findings)


def test_the_list_is_long() -> None:
    assert len(BROKEN) >= 30


def test_a_queue_of_an_agent_that_is_none_is_a_warning(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_APP", "turnwise.demo.app:app")
    monkeypatch.setenv("TURNWISE_DEMO_DIR", str(place.folder))
    monkeypatch.setenv("TURNWISE_LLM_QUEUES", '{"triage_of_none": "slow"}')

    [found] = [each for each in examine() if each.check == "queues of agents"]

    assert (found.level, "TURNWISE_LLM_QUEUES names 'triage_of_none'" in found.said) == ("warning", True)


def test_an_issuer_without_keys_is_a_warning_as_only_a_gateway_needs_them(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = place.open.enter_context(web_server(b'{"keys": [{}]}'))
    monkeypatch.setenv("TURNWISE_OIDC_ISSUER", "https://issuer.example")
    monkeypatch.setenv("TURNWISE_OIDC_JWKS_URL", f"http://127.0.0.1:{keys}")

    warned, fetched = [each for each in examine() if each.check == "issuer https://issuer.example"]

    assert (warned.level, fetched.level) == ("warning", "ok")
    assert "needs TURNWISE_AUTH=keys" in warned.said
    assert "the gateway" in warned.mend


def test_a_check_that_fails_itself_is_a_finding_and_hides_no_other(
    place: Place, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> Iterator[None]:
        yield from ()
        raise TypeError("nobody thought of that")

    for module in ("broker.check", "models.check", "fleet.check", "upkeep.check_metrics", "addresses.check"):
        monkeypatch.setattr(f"turnwise.cli.doctor.{module}", fails)
    monkeypatch.setenv("TURNWISE_APP", "turnwise.demo.app:app")
    monkeypatch.setenv("TURNWISE_DEMO_DIR", str(place.folder))

    found = {each.check: each for each in examine()}

    for check in ("broker", "models", "fleet", "prefork metrics", "addresses"):
        assert found[check].level == "fault"
        assert found[check].said == "this check failed: TypeError: nobody thought of that"
        assert found[check].mend.startswith("report it")
    assert found["database"].level == found["schema"].level == found["retention"].level.replace("note", "ok") == "ok"
    assert "Traceback" not in terminal.printed("doctor", code=1)
