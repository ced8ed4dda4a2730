"""Connections over TLS to a PostgreSQL, a Redis and a RabbitMQ of the test's own, with certificates of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

import pytest
import redis
import sqlalchemy as sa
from tests.chaos.servers import Postgres, RabbitMQ, Redis, Server, ServerMissingError
from tests.contract.brokers import an_ask, until
from tests.support.certificates import Authority, Certificate
from tests.support.services import missing

from turnwise.bus.broker.url import TLSFiles
from turnwise.bus.celery_bus import CeleryBus
from turnwise.bus.envelope import Notice, RunNotice
from turnwise.bus.worker.celery_app import make_celery
from turnwise.errors import BrokerUnavailableError, ConfigurationError, DatabaseUnavailableError
from turnwise.record.database.database import Database

# RabbitMQ alone takes ten seconds to start, and longer on a busy machine.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "trusted")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stranger"), "stranger")


@pytest.fixture(scope="module")
def client(authority: Authority) -> TLSFiles:
    """Return the certificates of a process of ours."""
    own = authority.vouch_for("client")
    return TLSFiles(ca=authority.cert, cert=own.cert, key=own.key)


class SecurePostgres(Postgres):
    """It speaks TLS to whoever asks for it."""

    def __init__(self, folder: Path, certificate: Certificate) -> None:
        super().__init__(folder)
        # It takes no key that others may read.
        self._cert, self._key = (Path(shutil.copy(file, folder)) for file in (certificate.cert, certificate.key))
        self._key.chmod(0o600)
        if self.user is not None:
            shutil.chown(self._key, self.user, self.user)

    def command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        command, env = super().command()
        secure = {"ssl": "on", "ssl_cert_file": self._cert, "ssl_key_file": self._key}
        return [*command, *(part for name, value in secure.items() for part in ("-c", f"{name}={value}"))], env


class SecureRedis(Redis):
    """It speaks nothing but TLS, and asks for the client's certificate."""

    def __init__(self, folder: Path, authority: Authority, certificate: Certificate) -> None:
        super().__init__(folder)
        self._authority, self._certificate = authority, certificate

    @property
    def url(self) -> str:
        return f"rediss://127.0.0.1:{self.port}/0"

    def answers(self) -> bool:
        own = self._certificate
        client = redis.Redis.from_url(
            self.url, ssl_ca_certs=str(self._authority.cert), ssl_certfile=str(own.cert), ssl_keyfile=str(own.key)
        )
        try:
            return bool(client.ping())
        except redis.exceptions.RedisError:
            return False
        finally:
            client.close()

    def command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        own = self._certificate
        secure = ["--tls-cert-file", own.cert, "--tls-key-file", own.key, "--tls-ca-cert-file", self._authority.cert]
        ports = ["--port", "0", "--tls-port", self.port, "--bind", "127.0.0.1", "--tls-auth-clients", "yes"]
        return [self._program, *map(str, [*ports, *secure]), "--save", "", "--dir", str(self.folder)], os.environ


class SecureRabbitMQ(RabbitMQ):
    """The same."""

    def __init__(self, folder: Path, authority: Authority, certificate: Certificate) -> None:
        super().__init__(folder)
        lines = {
            "listeners.tcp": "none",
            "listeners.ssl.1": f"127.0.0.1:{self.port}",
            "ssl_options.cacertfile": authority.cert,
            "ssl_options.certfile": certificate.cert,
            "ssl_options.keyfile": certificate.key,
            "ssl_options.verify": "verify_peer",
            "ssl_options.fail_if_no_peer_cert": "true",
        }
        text = "".join(f"{name} = {value}\n" for name, value in lines.items())
        (folder / "secure.conf").write_text(text)
        self._files = TLSFiles(ca=authority.cert, cert=certificate.cert, key=certificate.key)

    @property
    def url(self) -> str:
        return f"amqps://guest:guest@127.0.0.1:{self.port}//"

    def answers(self) -> bool:
        bus = CeleryBus(self.url, tls=self._files)
        try:
            bus.check()
        except BrokerUnavailableError:
            return False
        finally:
            bus.close()
        return True

    def environment(self) -> dict[str, str]:
        env = {name: value for name, value in super().environment().items() if name != "RABBITMQ_NODE_PORT"}
        return env | {"RABBITMQ_CONFIG_FILE": f"{self.folder}/secure.conf"}


@contextmanager
def running(make: Callable[[], Server]) -> Iterator[Server]:
    try:
        server = make()
    except ServerMissingError as error:
        missing(str(error))
    try:
        server.start()
        server.await_answer()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("postgres")
    temporary = Path(tempfile.gettempdir())
    for above in takewhile(lambda at: at != temporary and temporary in at.parents, (folder, *folder.parents)):
        above.chmod(0o755)  # PostgreSQL runs as another user
    with running(lambda: SecurePostgres(folder / "server", authority.vouch_for("postgres"))) as server:
        yield server


@pytest.fixture(scope="module", params=["redis", "rabbitmq"])
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, authority: Authority
) -> Iterator[Server]:
    folder, own = tmp_path_factory.mktemp(request.param), authority.vouch_for(request.param)
    kind = SecureRedis if request.param == "redis" else SecureRabbitMQ
    with running(lambda: kind(folder / "server", authority, own)) as server:
        yield server


@pytest.mark.postgres
def test_the_database_is_reached_over_tls(postgres: Server, authority: Authority) -> None:
    database = Database(f"{postgres.url}?sslmode=verify-full&sslrootcert={authority.cert}")
    database.migrate()
    database.check_schema()

    with database.read() as connection:
        encrypted = connection.execute(sa.text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))
        assert encrypted.scalar_one() is True
    database.close()


@pytest.mark.postgres
def test_a_database_that_a_stranger_vouches_for_is_refused(postgres: Server, stranger: Authority) -> None:
    database = Database(f"{postgres.url}?sslmode=verify-full&sslrootcert={stranger.cert}")

    with pytest.raises(DatabaseUnavailableError, match="certificate verify failed"):
        database.check_schema()
    database.close()


def test_a_broker_is_reached_over_tls_by_publishers_listeners_and_workers(broker: Server, client: TLSFiles) -> None:
    bus = CeleryBus(broker.url, tls=client)
    bus.check()
    bus.publish_ask(an_ask("llm"))
    assert until(lambda: bus.waiting("llm") == 1)
    heard: list[Notice] = []
    assert bus.listen(heard.append).wait_ready(30)
    bus.notify(RunNotice(run="run_1", seq=1))
    assert until(lambda: heard == [RunNotice(run="run_1", seq=1)])
    bus.close()

    app = make_celery("secure", broker.url, ["llm"], tls=client)
    with app.connection_for_read() as connection:
        connection.ensure_connection(max_retries=1)
        assert connection.connected


def test_a_broker_that_a_stranger_vouches_for_is_refused(broker: Server, client: TLSFiles, stranger: Authority) -> None:
    bus = CeleryBus(broker.url, tls=TLSFiles(ca=stranger.cert, cert=client.cert, key=client.key))

    with pytest.raises(BrokerUnavailableError, match=r"(?i)certificate verify failed"):
        bus.check()
    bus.close()


def test_a_broker_that_only_the_system_could_vouch_for_is_refused(broker: Server, client: TLSFiles) -> None:
    bus = CeleryBus(broker.url, tls=TLSFiles(cert=client.cert, key=client.key))

    with pytest.raises(BrokerUnavailableError, match=r"(?i)certificate verify failed"):
        bus.check()
    bus.close()


def test_a_broker_that_wants_a_certificate_gets_no_further_without_one(broker: Server, authority: Authority) -> None:
    bus = CeleryBus(broker.url, tls=TLSFiles(ca=authority.cert))

    with pytest.raises(BrokerUnavailableError):
        bus.check()
    bus.close()


def test_a_broker_of_another_name_is_refused(tmp_path: Path, authority: Authority, client: TLSFiles) -> None:
    own = authority.vouch_for("elsewhere", "DNS:elsewhere.example")
    server = SecureRedis(tmp_path / "server", authority, own)
    try:
        server.start()
        bus = CeleryBus(server.url, tls=client)

        def refused() -> bool:
            with pytest.raises(BrokerUnavailableError) as error:
                bus.check()
            return "not valid for '127.0.0.1'" in str(error.value)

        assert until(refused, 60)
        bus.close()
    finally:
        server.close()


def test_files_that_can_not_be_used_are_refused_at_once(tmp_path: Path, authority: Authority) -> None:
    with pytest.raises(ConfigurationError, match="TURNWISE_BROKER_CA"):
        CeleryBus("rediss://127.0.0.1/0", tls=TLSFiles(ca=tmp_path / "none.pem"))
    with pytest.raises(ConfigurationError, match="begins with redis://, which is not encrypted"):
        CeleryBus("redis://127.0.0.1/0", tls=TLSFiles(ca=authority.cert))
    with pytest.raises(ConfigurationError, match="TURNWISE_BROKER_CERT is not"):
        CeleryBus("rediss://127.0.0.1/0", tls=TLSFiles(key=authority.cert))
