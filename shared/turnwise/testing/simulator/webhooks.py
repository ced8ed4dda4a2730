"""The receiver of webhooks of a simulated installation: outside, never killed, and always there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnwise.record.webhooks.records import Attempted
from turnwise.serving.webhooks.addresses import AddressRules
from turnwise.testing.simulator.promises import Violation
from turnwise.testing.simulator.record_copy import History
from turnwise.testing.simulator.world import World

_URL = "https://receiver.example/"


def _resolve(host: str, port: int) -> Sequence[str]:
    return ["1.1.1.1"]


# No name is looked up in a simulation.
RULES = AddressRules(resolve=_resolve)


def body_of_webhook() -> dict[str, Any]:
    """The webhook of a submission, which gets all that can be sent."""
    return {"url": _URL, "secret": "whsec_" + "QUFB" * 8, "events": ["*"]}


class SimulatedReceiver:
    """Counts what it was sent, by id; who sends may be stopped before and after that."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.received: Counter[str] = Counter()

    def __call__(self, url: str, headers: Mapping[str, str], body: str) -> Attempted:
        """Take a request."""
        self._world.step("a webhook is sent")
        self.received[headers["webhook-id"]] += 1
        # Whoever sent it may die before it is noted, as after any commit.
        if self._world.happens("kill_after_commit"):
            self._world.kill(self._world.schedule.here().host, "after: a webhook was sent")
        self._world.step("a webhook was sent")
        return Attempted(delivered=True, status_code=204)


def delivered(history: History, received: Counter[str]) -> Iterator[Violation]:
    """Each event that a webhook gets was sent at least once, under the id of that event, and is noted."""
    noted = {row["id"] for row in history.rows("webhook_deliveries") if row["state"] == "delivered"}
    for webhook in history.rows("webhooks"):
        for event in history.of_run("events", webhook["run_id"]):
            if event["type"] in webhook["events"]:
                id = f"msg_{webhook['run_id']}_{event['seq']}_{webhook['id']}"
                if not received[id] or id not in noted:
                    text = f"{id} ({event['type']}) was sent {received[id]} times, noted: {id in noted}"
                    yield Violation(promise="each webhook is delivered", sentence=text, run=webhook["run_id"])
