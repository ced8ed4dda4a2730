"""One installation of each kind for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e.installation import Distributed, Embedded, distributed_on
from tests.support.brokers import fresh_rabbitmq, fresh_redis

from turnwise.client import Client
from turnwise.testing.fake_llm.server import FakeLLMServer

DISTRIBUTED = [
    pytest.param("over_rabbitmq", id="rabbitmq", marks=[pytest.mark.postgres, pytest.mark.rabbitmq]),
    pytest.param("over_redis", id="redis", marks=[pytest.mark.postgres, pytest.mark.redis]),
]
SERVED = ["embedded", *DISTRIBUTED]


@pytest.fixture(scope="package")
def embedded(model: FakeLLMServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """`turnwise up`."""
    installation = Embedded(tmp_path_factory.mktemp("embedded"))
    yield installation
    installation.stop()


@pytest.fixture(scope="package")
def carrying(model: FakeLLMServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """`turnwise up`, where whoever has answered carries the run on."""
    installation = Embedded(tmp_path_factory.mktemp("carrying"), moves="worker")
    yield installation
    installation.stop()


@pytest.fixture(scope="package")
def over_rabbitmq(model: FakeLLMServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Distributed]:
    """Services on PostgreSQL and RabbitMQ."""
    with distributed_on(fresh_rabbitmq, tmp_path_factory.mktemp("rabbitmq")) as installation:
        yield installation


@pytest.fixture(scope="package")
def over_redis(model: FakeLLMServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Distributed]:
    """Services on PostgreSQL and Redis."""
    with distributed_on(fresh_redis, tmp_path_factory.mktemp("redis")) as installation:
        yield installation


@pytest.fixture(params=DISTRIBUTED)
def distributed(request: pytest.FixtureRequest) -> Distributed:
    """Each distributed installation in turn."""
    found: Distributed = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=SERVED)
def anywhere(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client of each kind of installation in turn."""
    with Client(request.getfixturevalue(request.param).url) as client:
        yield client


@pytest.fixture
def client(distributed: Distributed) -> Iterator[Client]:
    """A client of the distributed installation."""
    with Client(distributed.url) as made:
        yield made
