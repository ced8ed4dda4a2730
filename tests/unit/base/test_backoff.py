"""The growth of waits between tries."""

from __future__ import annotations

import pytest

from turnwise.base.backoff import backoff


def test_waits_double_from_the_first_to_the_last() -> None:
    assert [backoff(failed, 0.5, 3.0) for failed in (1, 2, 3, 4, 5)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_waits_may_grow_by_another_factor() -> None:
    assert [backoff(failed, 1.0, 60.0, 3.0) for failed in (1, 2, 3)] == [1.0, 3.0, 9.0]


def test_a_factor_of_one_keeps_the_wait() -> None:
    assert backoff(10_000, 0.5, 3.0, 1.0) == 0.5


@pytest.mark.parametrize("factor", [1.01, 2, 2.0, 1e300])
def test_no_number_of_tries_is_too_many(factor: float) -> None:
    assert backoff(10_000, 0.5, 3.0, factor) == 3.0


@pytest.mark.parametrize("factor", [1.01, 2.0, 1e300])
def test_no_first_wait_stays_none(factor: float) -> None:
    assert backoff(10_000, 0.0, 3.0, factor) == 0.0


def test_a_first_wait_above_the_last_is_the_last() -> None:
    assert backoff(1, 5.0, 3.0) == 3.0
