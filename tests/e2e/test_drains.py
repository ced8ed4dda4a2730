"""Workers that are told to end while the database is away: they end, and what they could not write is seen to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e import side_effects
from tests.e2e.installation import Distributed, distributed_on
from tests.e2e.processes import Process, environment, free_port
from tests.e2e.served import status_once
from tests.e2e.waiting import until
from tests.support.brokers import fresh_rabbitmq
from tests.support.client_views import parked_asks
from tests.support.tcp_proxy import TcpProxy, address_in

from turnwise.base.ids import new_id
from turnwise.client import Client

pytestmark = [pytest.mark.postgres, pytest.mark.rabbitmq, pytest.mark.timeout(400)]
APP = "tests.e2e.side_effects:app"


@dataclass(frozen=True, kw_only=True)
class Place:
    """An installation without workers, the way of one to the database, and where its handlers are held."""

    installation: Distributed
    client: Client
    proxy: TcpProxy
    folder: Path

    def worker(self, pool: str, drain_seconds: str) -> Process:
        """A worker for two answers at a time, whose database is behind the proxy."""
        port, url = free_port(), self.proxy.url(self.installation.database)
        given = {**self.installation.settings, "database_url": url, "drain_seconds": drain_seconds}
        env = environment(**given, metrics_bind=f"127.0.0.1:{port}")
        arguments = ["worker", "-Q", "llm,agent", "--pool", pool, "--concurrency", "2"]
        made = Process(arguments, env, f"http://127.0.0.1:{port}", self.folder / f"{new_id('worker')}.log")
        made.wait_ready()
        return made

    def held(self, tool: str) -> tuple[str, Path]:
        """A run in the middle of the handler of a tool, and the file that holds it there."""
        ref = new_id("ref")
        hold, log = self.folder / f"hold-{ref}", self.folder / "log"
        hold.touch()
        run = str(self.client.submit("clerk", f"please {tool} {ref}").id)
        until(lambda: log.exists() and ref in log.read_text(), f"{tool} to be in the middle")
        return run, hold


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("drains")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(side_effects.FOLDER, str(folder))
        with (
            distributed_on(fresh_rabbitmq, folder, APP, roles=("gateway", "coordinator")) as installation,
            TcpProxy(address_in(installation.database)) as proxy,
            Client(installation.url) as client,
        ):
            yield Place(installation=installation, client=client, proxy=proxy, folder=folder)


@pytest.fixture
def proxy(place: Place) -> Iterator[TcpProxy]:
    yield place.proxy
    place.proxy.heal()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_whose_database_stays_away_ends_and_leaves_its_answers_to_be_taken_over(
    place: Place, proxy: TcpProxy, pool: str
) -> None:
    worker = place.worker(pool, "3")
    try:
        held = {tool: place.held(tool) for tool in ("look", "pay")}
        proxy.refuse()
        for _, hold in held.values():
            hold.unlink()
        until(lambda: worker.output().count("Could not write for") > 1, "both results to be kept waiting")

        worker.terminate()

        until(lambda: not worker.running, "the worker to end", patience=30)
        assert worker.exit_code == 0
        assert worker.output().count("the ask will be taken over") == 2, worker.output()[-3000:]
        assert ("TURNWISE_DRAIN_SECONDS" in worker.output()) is (pool == "threads")
    finally:
        worker.kill()
    proxy.heal()
    other = place.worker("threads", "60")
    status_once(place.client, held["look"][0], "completed")
    run = held["pay"][0]
    until(lambda: run in [item.run for item in parked_asks(place.client.inbox())], "the payment to be parked")
    other.stop()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_whose_database_comes_back_in_time_writes_its_answers_and_ends(
    place: Place, proxy: TcpProxy, pool: str
) -> None:
    worker = place.worker(pool, "60")
    try:
        run, hold = place.held("pay")
        proxy.refuse()
        hold.unlink()
        until(lambda: "Could not write for" in worker.output(), "the result to be kept waiting")
        worker.terminate()
        until(lambda: worker.output().count("Could not write for") > 2, "it to wait on")
        assert worker.running

        proxy.heal()

        until(lambda: not worker.running, "the worker to end", patience=30)
    finally:
        worker.kill()
    other = place.worker("threads", "60")
    status_once(place.client, run, "completed")
    other.stop()
