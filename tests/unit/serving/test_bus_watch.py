"""The conditions of deafness: a process is told of nothing, and finds work again and again."""

from __future__ import annotations

from turnwise.base.clock import SystemClock
from turnwise.serving.bus_watch import BusWatch


class Hands(SystemClock):
    """A clock that a test moves."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


def test_work_that_is_found_twice_after_a_long_silence_means_deaf() -> None:
    clock = Hands()
    hearing = BusWatch(clock, 5.0)
    clock.now += 6
    hearing.missed()
    clock.now += 4
    hearing.missed()
    assert hearing.deaf_for() is None
    clock.now += 2
    hearing.missed()
    assert hearing.deaf_for() == 0.0
    clock.now += 3
    assert hearing.deaf_for() == 3.0
    assert "brought nothing for 15 s" in hearing.told()


def test_silence_alone_is_no_deafness() -> None:
    clock = Hands()
    hearing = BusWatch(clock, 5.0)
    assert not hearing.silent()
    clock.now += 1_000
    assert hearing.silent()
    assert hearing.deaf_for() is None


def test_work_that_is_found_among_messages_means_nothing() -> None:
    clock = Hands()
    hearing = BusWatch(clock, 5.0)
    for _ in range(10):
        clock.now += 4
        hearing.missed()
        hearing.heard()
    assert hearing.deaf_for() is None


def test_a_message_ends_deafness_and_it_begins_anew() -> None:
    clock = Hands()
    hearing = BusWatch(clock, 5.0)
    for _ in range(2):
        clock.now += 6
        hearing.missed()
    assert hearing.deaf_for() is not None
    hearing.heard()
    assert hearing.deaf_for() is None
    clock.now += 6
    hearing.missed()
    assert hearing.deaf_for() is None
