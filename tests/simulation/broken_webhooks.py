"""The protections of webhooks, each taken away: what the simulator has to notice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import sqlalchemy as sa
from tests.simulation import team
from tests.simulation.broken import KILLS, Saboteur

from turnwise.record.database.webhook_tables import webhook_deliveries
from turnwise.record.webhooks.outbox import Outbox
from turnwise.record.webhooks.records import Attempted, DueDelivery, Parcel
from turnwise.testing import Conversation

_NOTIFIED = replace(
    team.scenario, conversations=[Conversation(task=task, message="a book", webhook=True) for task in ("order", "trip")]
)


def noted_before_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A webhook is marked as delivered, and sent after that."""
    parcel = Outbox.parcel

    def early(self: Outbox, due: DueDelivery) -> Parcel | None:
        found = parcel(self, due)
        if found is not None:
            self.note_attempt(due, Attempted(delivered=True, status_code=204), None)
        return found

    monkeypatch.setattr(Outbox, "parcel", early)


def no_second_taker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A webhook stays with the coordinator that took it, also if that dies."""
    take = Outbox.take_deliveries
    monkeypatch.setattr(Outbox, "take_deliveries", lambda self, limit, lease, *rest: take(self, limit, 1e6, *rest))


def lost_from_the_outbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deletion of old messages takes what is still to be sent."""

    def by_age_alone(self: Outbox, age: float, limit: int) -> int:
        with self._database.begin() as connection:
            return connection.execute(sa.delete(webhook_deliveries)).rowcount

    monkeypatch.setattr(Outbox, "forget_deliveries", by_age_alone)


def _saboteur(name: str, takes_away: Callable[[pytest.MonkeyPatch], None]) -> Saboteur:
    promises = ("each webhook is delivered",)
    return Saboteur(name=name, takes_away=takes_away, faults=KILLS, promises=promises, scenario=_NOTIFIED)


SABOTEURS = [
    _saboteur("noted before it is sent", noted_before_it_is_sent),
    _saboteur("no second taker", no_second_taker),
    _saboteur("lost from the outbox", lost_from_the_outbox),
]
