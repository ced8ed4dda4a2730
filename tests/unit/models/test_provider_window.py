"""The arithmetic of a provider's limits."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.errors.rate_limits import Quota, RateLimits
from turnwise.models.limits.window import Caps, LimitPlace, Window
from turnwise.testing.fake_llm.limits import RequestLimiter, ServerLimits
from turnwise.testing.fake_llm.request import ChatRequest

gaps = st.floats(0, 30, allow_nan=False)
tokens = st.integers(0, 120)
caps_of_any_kind = st.builds(
    Caps,
    requests=st.none() | st.integers(1, 6),
    tokens=st.none() | st.integers(50, 300),
    window=st.sampled_from([1.0, 10.0, 60.0]),
)


def booked(caps: Caps, asked: list[tuple[float, int]], start: float = 1_000.0) -> list[LimitPlace]:
    """Calls that come after `gaps` and wait until they have room, in order."""
    window, now, places = Window(), start, []
    for gap, wanted in asked:
        now = window.room(caps, wanted, now + gap).at
        window, place = window.take(caps, wanted, now)
        places.append(place)
    return places


@given(caps=caps_of_any_kind, asked=st.lists(st.tuples(gaps, tokens), max_size=40))
def test_no_window_wherever_it_begins_has_more_than_the_limit(caps: Caps, asked: list[tuple[float, int]]) -> None:
    places = booked(caps, asked)
    for first in range(len(places)):
        inside = [place for place in places[first:] if place.at < places[first].at + caps.window]
        if caps.requests is not None:
            assert len(inside) <= caps.requests
        if caps.tokens is not None and all(place.tokens <= caps.tokens for place in inside):
            assert sum(place.tokens for place in inside) <= caps.tokens


@given(caps=caps_of_any_kind, asked=st.lists(st.tuples(gaps, tokens), max_size=40))
def test_a_provider_that_counts_the_last_window_refuses_none(caps: Caps, asked: list[tuple[float, int]]) -> None:
    now = 0.0
    gate = RequestLimiter(ServerLimits(requests=caps.requests, window=caps.window), lambda: now)
    request = ChatRequest(model="m", messages=[{"role": "user", "content": "x"}])
    for place in booked(caps, asked):
        now = place.at
        assert gate.enter(("m", "k"), request).call is not None


@given(caps=caps_of_any_kind, asked=st.lists(st.tuples(gaps, tokens), min_size=1, max_size=40), late=gaps)
def test_nobody_waits_longer_than_one_window_behind_the_last(
    caps: Caps, asked: list[tuple[float, int]], late: float
) -> None:
    window, now = Window(), 1_000.0
    for gap, wanted in asked:
        found = window.room(caps, wanted, now + gap)
        assert found.at - (now + gap) <= caps.window * (1 + 2 / 60) + 1e-6
        assert (found.limit is None) == (found.at == now + gap)
        now = found.at
        window, _ = window.take(caps, wanted, now)


@given(asked=st.lists(st.tuples(gaps, tokens), max_size=40))
def test_a_full_limit_is_used_but_for_a_thirtieth(asked: list[tuple[float, int]]) -> None:
    caps = Caps(requests=5, window=10.0)
    places = booked(caps, [(0.0, 0)] * 50)
    assert places[-1].at - places[0].at <= 9 * 10.0 * (1 + 2 / 60) + 1e-6


@given(asked=st.lists(st.tuples(gaps, tokens), max_size=20))
def test_what_is_kept_is_bounded_and_comes_back_from_json(asked: list[tuple[float, int]]) -> None:
    caps, window, now = Caps(requests=6, tokens=300), Window(), 1_000.0
    for gap, wanted in asked:
        window, place = window.take(caps, wanted, now := now + gap)
        window = window.settle(caps, place, wanted // 2)
    assert len(window.slices) <= 63
    assert Window.load(json.loads(json.dumps(window.dump()))) == window


def test_what_a_call_did_not_use_has_room_for_others() -> None:
    caps = Caps(tokens=100)
    window, place = Window().take(caps, 90, 0.0)
    assert window.room(caps, 50, 1.0).limit == "tokens"
    assert window.settle(caps, place, 20).room(caps, 50, 1.0).at == 1.0
    assert window.release(caps, place).room(caps, 100, 1.0).at == 1.0


def test_a_call_that_is_larger_than_the_limit_goes_alone() -> None:
    caps = Caps(tokens=100, window=60.0)
    assert Window().room(caps, 500, 0.0).at == 0.0
    window, _ = Window().take(caps, 1, 0.0)
    assert 60.0 < window.room(caps, 500, 1.0).at <= 62.001


def announcement(remaining: int, reset: float = 30.0, limit: int = 10) -> RateLimits:
    return RateLimits(requests=Quota(limit=limit, remaining=remaining, reset=reset))


def test_announced_limits_hold_where_none_is_configured() -> None:
    window, place = Window().take(Caps(), 5, 0.0)
    window = window.announced(announcement(remaining=9), place)
    assert window.caps(Caps()).requests == 10
    assert window.caps(Caps(requests=3)).requests == 3
    assert window.foreign.requests == 0


def test_what_others_used_leaves_less_room_until_it_is_back() -> None:
    window, place = Window().take(Caps(), 5, 100.0)
    window = window.announced(announcement(remaining=1, reset=30.0), place)
    caps = window.caps(Caps())
    assert window.places(caps, 101.0) == 1
    window, _ = window.take(caps, 5, 101.0)
    room = window.room(caps, 5, 102.0)
    assert (room.at, room.limit) == (130.0, "requests")
    assert window.places(caps, 131.0) == 8


def test_an_older_answer_that_comes_later_changes_no_count() -> None:
    caps = Caps()
    window, slow = Window().take(caps, 5, 100.0)
    window, quick = window.take(caps, 5, 101.0)
    window = window.announced(announcement(remaining=8), quick)
    assert window.announced(announcement(remaining=0), slow).foreign == window.foreign
    assert window.foreign.requests == 0


def test_a_call_made_before_anything_was_known_counts_in_whatever_order_later_ones_are_answered() -> None:
    window = Window().met(Caps(), announcement(remaining=9), 5, 100.0)
    caps = window.caps(Caps())
    for n in range(9):
        window, last = window.take(caps, 5, 101.0 + n / 10)
    assert window.places(caps, 102.0) == 0
    # The last of them came to the provider before the others.
    window = window.announced(announcement(remaining=8), last)
    assert window.places(caps, 102.0) == 0


def test_several_answers_that_tell_of_the_same_others_count_them_once() -> None:
    caps = Caps()
    window, first = Window().take(caps, 5, 100.0)
    window, second = window.take(caps, 5, 100.1)
    window = window.announced(announcement(remaining=4), first)
    window = window.announced(announcement(remaining=3), second)
    assert window.foreign.requests == 5


@pytest.mark.parametrize(
    ("told", "until"),
    [
        (RateLimits(retry_after=7.0), 107.0),
        (announcement(remaining=0, reset=12.0), 112.0),
        (announcement(remaining=3, reset=12.0), 101.0),
        (None, 101.0),
    ],
)
def test_after_a_refusal_nobody_is_let_through_until_then(told: RateLimits | None, until: float) -> None:
    window = Window().refused(told, 100.0)
    room = window.room(Caps(), 1, 100.5)
    assert (room.at, room.limit) == (until, "requests")
    assert window.places(Caps(requests=9), 100.5) == 0
    assert window.room(Caps(), 1, until).limit is None
