"""The protections of batches of a provider, each taken away: what the simulator has to notice."""

from __future__ import annotations

import pytest
from tests.simulation import patient
from tests.simulation.broken import LOST_ANSWERS, Saboteur

from turnwise.models.openai.batches import RemoteBatches
from turnwise.record.provider_batches import batches

_KILLS = {"kill_at_provider": 0.5, "most": 6}


def no_look_for_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Submit a batch that another worker was lost with, although the provider may have it."""
    monkeypatch.setattr(RemoteBatches, "find", lambda self, name, made_at: None)


def no_look_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a file at the provider whose worker was lost before it could make a batch of it."""
    monkeypatch.setattr(RemoteBatches, "clear", lambda self, name, made_at: None)


def no_taking_up_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a batch with whoever could not finish with it, until its lease is over."""
    monkeypatch.setattr(batches, "_DUE", batches._DUE.where(batches._FREE))


SABOTEURS = [
    Saboteur(
        name="no look for batches",
        takes_away=no_look_for_batches,
        faults=_KILLS,
        promises=("one call, one batch",),
        scenario=patient.scenario,
    ),
    Saboteur(
        name="no look for files",
        takes_away=no_look_for_files,
        faults=_KILLS,
        promises=("nothing left",),
        scenario=patient.scenario,
    ),
    Saboteur(
        name="no taking up of batches",
        takes_away=no_taking_up_of_batches,
        faults=LOST_ANSWERS,
        promises=("half the price",),
        scenario=patient.scenario,
        first=1_029,
        patience=400.0,
    ),
]
