"""A model over HTTP, and one installation of each kind for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from brokers import BrokerMissing, fresh_rabbitmq, fresh_redis
from databases import NoPostgresError, fresh_postgres
from e2e.installation import Distributed, Embedded
from e2e.model import answer
from e2e.processes import environment, run_command
from tests.services import missing

from turnwise.client import Client
from turnwise.fake_llm.server import FakeLLMServer

BROKERS = [
    pytest.param("rabbitmq", marks=[pytest.mark.postgres, pytest.mark.rabbitmq]),
    pytest.param("redis", marks=[pytest.mark.postgres, pytest.mark.redis]),
]


@pytest.fixture(scope="session")
def model() -> Iterator[FakeLLMServer]:
    """The model that all processes talk to over HTTP."""
    with FakeLLMServer(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", "none")
        yield server


@pytest.fixture(scope="session")
def embedded(model: FakeLLMServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """`turnwise up`."""
    installation = Embedded(tmp_path_factory.mktemp("embedded"))
    yield installation
    installation.stop()


@pytest.fixture(scope="session")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL database with the schema in it."""
    try:
        with fresh_postgres() as url:
            done = run_command(["migrate"], environment(database_url=url), tmp_path_factory.mktemp("migrate"))
            assert done.returncode == 0, done.stderr
            yield url
    except NoPostgresError as error:
        missing(str(error))


@pytest.fixture(scope="session", params=BROKERS)
def distributed(
    request: pytest.FixtureRequest, model: FakeLLMServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Distributed]:
    """Services on PostgreSQL and a broker."""
    fresh = {"rabbitmq": fresh_rabbitmq, "redis": fresh_redis}[request.param]
    try:
        with fresh_postgres() as database, fresh() as broker:
            yield from _installed(database, broker, tmp_path_factory.mktemp(request.param))
    except (BrokerMissing, NoPostgresError) as error:
        missing(str(error))


def _installed(database: str, broker: str, folder: Path) -> Iterator[Distributed]:
    done = run_command(["migrate"], environment(database_url=database), folder)
    assert done.returncode == 0, done.stderr
    installation = Distributed(database, broker, folder)
    try:
        installation.start()
        yield installation
    finally:
        installation.stop()


@pytest.fixture
def client(distributed: Distributed) -> Iterator[Client]:
    """A client of the distributed installation."""
    with Client(distributed.url) as made:
        yield made


@pytest.fixture
def embedded_client(embedded: Embedded) -> Iterator[Client]:
    """A client of the embedded server."""
    with Client(embedded.url) as made:
        yield made
