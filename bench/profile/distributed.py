"""A turn of real services: processes of their own, PostgreSQL and RabbitMQ."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.brokers import fresh_rabbitmq
from tests.support.databases import fresh_postgres

from bench import distributed
from bench.account import gather
from bench.counting import turns_of
from bench.profile.application import FOLDER
from bench.profile.turn import Turn


def profile(turns: int, *, moves: str = "worker", pools: bool | None = None) -> Turn:
    """Measure one conversation of so many turns; raises `NoPostgresError`, `BrokerMissing`.

    With `pools` one worker serves models and another tools, so every turn goes from the one to the other. By default it
    is one worker where workers carry runs on, since that shows what carrying saves, and two where they do not.
    """
    if pools is None:
        pools = moves == "coordinator"
    with (
        TemporaryDirectory(prefix="turnwise-profile-") as folder,
        fresh_rabbitmq() as broker,
        fresh_postgres() as database,
    ):
        distributed.measure(
            "distributed",
            database,
            broker,
            [(turns, 1)],
            moves=moves,
            app="bench.profile.application:app",
            variables={FOLDER: folder},
            services=distributed.POOLS if pools else distributed.TOGETHER,
        )
        done = turns_of(turns) + turns_of(distributed.WARM_UP)
        return Turn(way="distributed", parts=gather(Path(folder), done))
