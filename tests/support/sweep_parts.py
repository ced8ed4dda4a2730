"""The sweeps of a desk's coordinator, each by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.support.served_parts import Desk

from turnwise.serving.dispatcher import Dispatcher
from turnwise_coordinator.batches import Batches
from turnwise_coordinator.schedules import ScheduleSweep
from turnwise_coordinator.sweeper import Sweeper, SweepPart


def schedule_sweep_of(desk: Desk) -> ScheduleSweep:
    """The part that carries out the schedules of the desk's record."""
    return ScheduleSweep(desk.store.coordinator, Dispatcher(desk.bus), desk.app, desk.settings, desk.told)


def batch_sweep_of(desk: Desk) -> Batches:
    """The part that begins the items of the batches of the desk's record."""
    return Batches(desk.store.coordinator, Dispatcher(desk.bus), desk.settings, desk.told)


def sweeper_of(
    desk: Desk, move: Callable[[str], object] = lambda _run: None, parts: Sequence[SweepPart] = ()
) -> Sweeper:
    """A sweeper of the desk's record that makes moves by `move`, and does nothing but its own work and `parts`."""
    record, dispatcher = desk.store.coordinator, Dispatcher(desk.bus)
    return Sweeper(record, desk.bus, move, dispatcher, desk.told, desk.settings, parts, schedule_sweep_of(desk))
