"""A schedule and a webhook of an installation with two coordinators, of which one after the other is killed."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from tests.e2e.installation import ONE_WORKER, distributed_on
from tests.e2e.waiting import until
from tests.support.brokers import fresh_rabbitmq
from tests.support.receiver import Received, Reply, WebhookReceiver

from turnwise.api.schedules import TickView
from turnwise.client import Client
from turnwise.testing.fake_llm.server import FakeLLMServer

_RECEIVERS_HERE = {
    "webhook_allow_http": "true",
    "webhook_allowed_networks": '["127.0.0.0/8"]',
    "webhook_timeout": "2",
}


class _HeldReceiver(WebhookReceiver):
    """Lets those who send wait for an answer while it is held."""

    def __init__(self) -> None:
        super().__init__(self._late)
        self._free = threading.Event()
        self._free.set()

    def hold(self) -> Received:
        """Answer nothing more, and return the next request once it waits."""
        self._free.clear()
        came = len(self.received)
        return self.wait(came + 1)[came]

    def let_go(self) -> None:
        """Answer again."""
        self._free.set()

    def _late(self, _: Received) -> Reply:
        self._free.wait(30)
        return Reply()


@pytest.mark.postgres
@pytest.mark.rabbitmq
def test_ticks_come_once_and_webhooks_at_least_once_while_coordinators_are_killed(
    model: FakeLLMServer, tmp_path: Path
) -> None:
    with (
        _HeldReceiver() as receiver,
        distributed_on(fresh_rabbitmq, tmp_path, roles=ONE_WORKER, **_RECEIVERS_HERE) as installation,
        Client(installation.url) as client,
    ):
        first = installation.processes["coordinator"]
        second = installation.launch("coordinator")
        second.wait_ready()
        hook = client.create_webhook(receiver.url, events=["run.completed"])
        client.create_schedule(
            "often", "tool_loop", "go", every=1.0, catch_up="all", catch_up_limit=100, overlap="allow"
        )

        def ticks() -> list[TickView]:
            return list(client.all_ticks("often", limit=200))

        until(lambda: len(ticks()) >= 3, "ticks of two coordinators")
        receiver.hold()
        first.kill()
        receiver.let_go()
        until(lambda: len(ticks()) >= 6, "ticks of the other")
        under_way = receiver.hold()  # which the second one sends, because no other lives
        second.kill()
        receiver.let_go()
        before = len(ticks())  # while the next one starts, ticks are due and no coordinator lives
        installation.launch("coordinator").wait_ready()
        until(lambda: len(ticks()) >= before + 5, "ticks that were missed")
        client.pause_schedule("often")

        made = sorted(ticks(), key=lambda tick: tick.due_at)
        runs = {run.id: run for run in client.all_runs(tag="schedule:often", limit=200)}
        assert {tick.outcome for tick in made} == {"submitted"}
        # None is left out, none is there twice, and each has the run that says so.
        assert [round((two.due_at - one.due_at).total_seconds(), 3) for one, two in pairwise(made)] == [1.0] * (
            len(made) - 1
        )
        assert sorted(str(tick.run) for tick in made) == sorted(runs)
        until(lambda: all(client.run(run).finished_at for run in runs), "the ends of all runs")

        until(lambda: not client.deliveries(hook.id, state="pending").items, "the last deliveries")
        sent = defaultdict[str, list[Received]](list)
        for request in receiver.received:
            sent[json.loads(request.body)["data"]["run"]].append(request)
        assert sorted(sent) == sorted(runs)
        assert all(len({(one.id, one.body) for one in of_run}) == 1 for of_run in sent.values())
        # A delivery that the second one sent and could not note was sent again.
        assert sum(one.id == under_way.id for one in receiver.received) >= 2
