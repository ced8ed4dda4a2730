"""The conditions of an outage, and the probes of its end."""

from __future__ import annotations

import pytest

from turnwise import RetryPolicy
from turnwise.errors import (
    CallTimeoutError,
    ModelError,
    ModelRateLimitError,
    ModelRefusedError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from turnwise.models.limits.outage import Outage
from turnwise.models.retry_policy import ErrorKind, is_outage

AWAY = ModelUnavailableError("no connection")


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (AWAY, True),
        (ModelTimeoutError("late", may_have_cost=True), True),
        (ModelUnavailableError("nonsense", True, outage=False), False),
        (CallTimeoutError("one answer took long"), False),
        (ModelRateLimitError("429"), False),
        (ModelRequestError("401"), False),
        (ModelRefusedError("no"), False),
        (ModelError("something"), False),
        (RuntimeError("ours"), False),
    ],
)
def test_one_table_says_what_an_outage_is(error: Exception, outage: bool) -> None:
    assert is_outage(error) is outage
    assert RetryPolicy().waits_out(error, "wait") is outage


@pytest.mark.parametrize(
    ("policy", "default", "waits"),
    [
        (RetryPolicy(), "wait", True),
        (RetryPolicy(), "fail", False),
        (RetryPolicy(on_outage="wait"), "fail", True),
        (RetryPolicy(on_outage="fail"), "wait", False),
        (RetryPolicy(tries=3), "wait", False),
        (RetryPolicy(tries=3, on_outage="wait"), "fail", True),
        (RetryPolicy.NEVER, "wait", False),
        (RetryPolicy(kinds=frozenset({ErrorKind.RATE_LIMIT})), "wait", False),
        (RetryPolicy(longest_wait=10), "wait", True),
    ],
)
def test_an_agent_s_policy_stands_above_the_setting(policy: RetryPolicy, default: str, waits: bool) -> None:
    assert policy.waits_out(AWAY, default) is waits


def test_the_waits_grow_up_to_five_minutes_and_a_part_of_each_is_left_to_chance() -> None:
    policy = RetryPolicy()
    assert [policy.outage_wait(n, 0) for n in (1, 2, 3, 9, 10, 1_000_000)] == [1, 2, 4, 256, 300, 300]
    assert policy.outage_wait(10, 1) == 225
    assert RetryPolicy(longest_outage_wait=7).outage_wait(10, 0) == 7


def test_one_run_that_fails_again_and_again_says_nothing_of_the_others() -> None:
    first = Outage().failed("a", 100.0, 1.0)

    assert first is not None and not first.away
    assert first.failed("a", 101.0, 1.0) is None


def test_two_runs_that_fail_one_after_the_other_show_that_the_provider_is_away() -> None:
    outage = Outage().failed("a", 100.0, 1.0)
    assert outage is not None
    outage = outage.failed("b", 101.0, 2.0)

    assert outage is not None and outage.away and (outage.probes, outage.until) == (1, 103.0)
    assert outage.failed("b", 500.0, 4.0) is None
    later = outage.failed("a", 500.0, 4.0)
    assert later is not None and later.probes == 2


def test_failures_far_apart_have_nothing_to_do_with_each_other() -> None:
    outage = Outage().failed("a", 100.0, 1.0)
    assert outage is not None
    outage = outage.failed("b", 161.0, 1.0)

    assert outage is not None and not outage.away


def test_calls_under_way_together_count_as_one_failure_unless_they_fail_one_after_the_other() -> None:
    outage = Outage().failed("a", 100.0, 1.0, began=40.0)
    assert outage is not None

    assert outage.failed("b", 100.5, 1.0, began=40.5) is None
    silent = outage.failed("b", 102.0, 1.0, began=42.0)
    assert silent is not None and silent.away
    since = outage.failed("b", 100.5, 1.0, began=100.2)
    assert since is not None and since.away


def test_an_answer_between_two_failures_makes_the_second_one_the_first() -> None:
    outage = Outage().failed("a", 100.0, 1.0)
    assert outage is not None
    anew = outage.failed("b", 105.0, 1.0, answered=104.0)
    assert anew is not None and not anew.away and anew.run == "b"
    before = outage.failed("b", 105.0, 1.0, answered=99.0)
    assert before is not None and before.away


def test_a_call_that_hangs_for_longer_than_failures_are_remembered_counts_all_the_same() -> None:
    outage = Outage().failed("a", 100.0, 1.0, began=0.0)
    assert outage is not None
    later = outage.failed("b", 225.0, 1.0, began=105.0)
    assert later is not None and later.away


def test_a_new_ask_probes_every_few_seconds() -> None:
    outage = Outage(probes=1)
    assert outage.may_probe(1_000.0)
    assert not outage.probed(1_000.0).may_probe(1_014.0)
    assert outage.probed(1_000.0).may_probe(1_015.0)


def test_it_survives_being_written_down_beside_the_names_of_limits() -> None:
    outage = Outage(probes=3, run="run_1", until=1234.5, new_at=7.25)
    assert Outage.load(outage.dump()) == outage
    assert Outage.load("tokens") is None
    assert Outage.load(None) is None
