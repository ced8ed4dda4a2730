"""A worker that carries a run is killed with -9 at each point of its turn: the run ends with the same transcript."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import carrier
from tests.e2e.installation import ONE_WORKER, Embedded, distributed_on
from tests.e2e.processes import Process
from tests.e2e.served import follow, status_once
from tests.e2e.transcript import Transcript, from_events
from tests.e2e.waiting import until
from tests.support.brokers import fresh_rabbitmq

from turnwise.cli.text.messages import as_json
from turnwise.client import Client
from turnwise.errors import GatewayUnavailableError
from turnwise.record.database.database import Database
from turnwise.record.store import Store

APP = "tests.e2e.carrier:app"
PLACES = ["embedded", pytest.param("distributed", marks=[pytest.mark.postgres, pytest.mark.rabbitmq])]


@dataclass(kw_only=True)
class Place:
    """An installation whose one worker serves all queues, so that it carries runs on."""

    client: Client
    folder: Path
    database: str
    worker: Callable[[], Process]
    replace: Callable[[], object]

    def submit(self) -> str:
        """Submit a run; its first turn begins once its id is known."""
        accepted = self.folder / carrier.ACCEPTED
        for file in (accepted, self.folder / "log"):
            file.unlink(missing_ok=True)
        run = str(self.client.submit("clerk", "go").id)
        accepted.touch()
        return run

    def finish(self, run: str) -> Transcript:
        """Answer the run's question and read what was said, once it has ended."""
        events = follow(self.client, run, ("yes",))
        return from_events(events, as_json(self.client.run(run)))

    def log(self) -> list[list[str]]:
        return [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]

    def asks(self, run: str) -> list[dict[str, Any]]:
        database = Database(self.database)
        try:
            return [ask for ask in Store(database).inspector.table("asks") if ask["run_id"] == run]
        finally:
            database.close()

    def undisturbed(self) -> Transcript:
        said = self.finish(self.submit())
        assert said.status_code == "DONE", str(said)
        assert len(self.log()) == len({what for what, _ in self.log() if what != "model"}) + _CALLS
        return said


# Calls of the model in a run: one for each booking, the question, and the last word.
_CALLS = carrier.LAST + 2


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("carrier")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(carrier.FOLDER, str(folder))
        if request.param == "embedded":
            server = Embedded(folder, APP)
            try:
                with Client(server.url) as client:
                    yield Place(
                        client=client,
                        folder=folder,
                        database=server.database,
                        worker=lambda: server.process,
                        replace=server.restart,
                    )
            finally:
                server.stop()
            return
        with (
            distributed_on(fresh_rabbitmq, folder, APP, roles=ONE_WORKER) as installation,
            Client(installation.url) as client,
        ):
            yield Place(
                client=client,
                folder=folder,
                database=installation.database,
                worker=lambda: installation.processes["worker"],
                replace=lambda: installation.launch("worker").wait_ready(),
            )


@pytest.fixture(scope="module")
def quiet(place: Place) -> Transcript:
    """The transcript where no one is killed."""
    return place.undisturbed()


@pytest.mark.parametrize("point", carrier.POINTS)
def test_a_carrier_killed_in_its_turn_costs_the_answer_in_flight_at_most(
    place: Place, quiet: Transcript, point: str
) -> None:
    armed = place.folder / f"kill-{point}"
    armed.touch()
    run = place.submit()
    answers = ["yes"]
    if point == "effect":  # the fourth booking comes after the question, the fourth of all else before its answer
        status_once(place.client, run, "waiting")
        with suppress(
            GatewayUnavailableError
        ):  # embedded, the gateway may die before it can say that it has the answer
            place.client.answer(run, answers.pop())
    until(lambda: not armed.exists(), f"the point {point}")
    until(lambda: not place.worker().running, "the worker to be dead")
    place.replace()

    events = follow(place.client, run, tuple(answers))
    said = from_events(events, as_json(place.client.run(run)))

    assert said == quiet, str(said)
    # One answer was lost at most: its ask was claimed again, and its call made again.
    attempts = Counter(ask["attempts"] for ask in place.asks(run))
    assert set(attempts) <= {0, 1, 2} and attempts[2] <= 1, attempts
    calls = Counter(what for what, _ in place.log())
    assert sum(calls.values()) - len(calls) - (_CALLS - 1) <= 1, calls
    # A handler that was called again was given the key of the first call.
    assert len({(what, key) for what, key in place.log() if what != "model"}) == carrier.LAST
    # And the run was carried: its asks were held from the moment that they were there.
    carried = [ask for ask in place.asks(run) if ask["claimed_at"] == ask["created_at"]]
    assert len(carried) >= carrier.LAST


def test_a_carrier_killed_while_its_run_waits_for_a_human_is_not_missed(place: Place, quiet: Transcript) -> None:
    run = place.submit()
    status_once(place.client, run, "waiting")
    place.worker().kill()
    place.replace()

    assert place.finish(run) == quiet
    assert {ask["attempts"] for ask in place.asks(run)} <= {0, 1}
