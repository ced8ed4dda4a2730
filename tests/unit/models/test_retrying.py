"""Which failures are tried again, how often, and after which waits."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from turnwise import ErrorKind, RetryPolicy
from turnwise.errors import (
    CallCancelledError,
    CallTimeoutError,
    ConfigurationError,
    LimitReachedError,
    ModelRateLimitError,
    ModelRefusedError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
    ToolServerUnavailableError,
)
from turnwise.models.retry_policy import kind_of, kind_of_handler_error

PLAIN = RetryPolicy(tries=4, first_wait=1, factor=2, longest_wait=3, jitter=0)


def test_waits_grow_up_to_the_longest_and_then_the_tries_are_used_up() -> None:
    assert [PLAIN.wait(ErrorKind.UNAVAILABLE, failed, 0.5) for failed in (1, 2, 3, 4)] == [1, 2, 3, None]


def test_chance_makes_a_wait_shorter_by_the_share_that_is_left_to_it() -> None:
    policy = PLAIN.model_copy(update={"jitter": 0.5})
    assert [policy.wait(ErrorKind.UNAVAILABLE, 2, chance) for chance in (0, 0.5, 1)] == [2, 1.5, 1]


def test_a_wait_that_the_provider_asks_for_is_kept_even_if_it_is_long() -> None:
    assert PLAIN.wait(ErrorKind.RATE_LIMIT, 1, 0, asked_for=120) == 120
    assert PLAIN.wait(ErrorKind.RATE_LIMIT, 1, 1, asked_for=120) == pytest.approx(132)
    assert PLAIN.wait(ErrorKind.RATE_LIMIT, 2, 0, asked_for=0.1) == 2


def test_a_rate_limit_has_tries_of_its_own() -> None:
    assert RetryPolicy(tries=1).wait(ErrorKind.RATE_LIMIT, 19, 0) is not None
    assert RetryPolicy(tries=1).wait(ErrorKind.RATE_LIMIT, 20, 0) is None


def test_by_default_nothing_is_repeated_that_would_fail_again() -> None:
    policy = RetryPolicy()
    assert not policy.covers(ErrorKind.REFUSED)
    assert not policy.covers(ErrorKind.REQUEST)
    assert not RetryPolicy(kinds=frozenset(ErrorKind)).covers(ErrorKind.REQUEST)
    assert not RetryPolicy.NEVER.covers(ErrorKind.RATE_LIMIT)


def test_many_tries_make_no_wait_that_no_number_holds() -> None:
    assert RetryPolicy(tries=10_000, factor=10).wait(ErrorKind.TIMEOUT, 9_000, 0) == 60


@pytest.mark.parametrize("factor", [1.01, 1e6])
def test_waits_of_any_factor_grow_up_to_the_longest(factor: float) -> None:
    policy = RetryPolicy(factor=factor, jitter=0)
    assert policy.outage_wait(2, 0) == min(factor, 300)
    assert policy.outage_wait(1_000, 0) == 300


def test_a_policy_says_what_is_wrong_with_it() -> None:
    with pytest.raises(ValidationError, match="retries"):
        RetryPolicy(retries=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelRateLimitError("429"), ErrorKind.RATE_LIMIT),
        (ModelUnavailableError("503"), ErrorKind.UNAVAILABLE),
        (ModelTimeoutError("late"), ErrorKind.TIMEOUT),
        (CallTimeoutError("late"), ErrorKind.TIMEOUT),
        (CallCancelledError("killed"), None),
        (ModelRefusedError("no"), ErrorKind.REFUSED),
        (ModelRequestError("400"), ErrorKind.REQUEST),
        (LimitReachedError("cost", "is too much"), None),
        (ValueError("a bug"), None),
    ],
)
def test_errors_of_a_model_have_kinds(error: Exception, kind: ErrorKind | None) -> None:
    assert kind_of(error) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("a bug"), ErrorKind.TOOL),
        (ToolServerUnavailableError("away"), ErrorKind.TOOL),
        (ModelUnavailableError("503"), ErrorKind.TOOL),
        (CallTimeoutError("late"), ErrorKind.TIMEOUT),
        (CallCancelledError("killed"), None),
        (LimitReachedError("cost", "is too much"), None),
        (ConfigurationError("wrong"), None),
        (KeyboardInterrupt(), None),
    ],
)
def test_errors_of_a_handler_have_kinds(error: BaseException, kind: ErrorKind | None) -> None:
    assert kind_of_handler_error(error) is kind
