"""The formulas of the HPA and of KEDA, with the numbers of their documentation where it gives some."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.scaling.rules import Behavior, Policy, Rules, Seen, decide, limited, stabilized, wanted

RULES = Rules(target=10, fewest=1, most=20)
AT_ONCE = replace(RULES, down=replace(RULES.down, stabilization=0))


@pytest.mark.parametrize(
    ("metric", "replicas", "expected"),
    [
        pytest.param(0, 3, 0, id="nothing needs none"),
        pytest.param(1, 1, 1, id="a fraction needs one"),
        pytest.param(41, 2, 5, id="rounded up"),
        pytest.param(54, 5, 5, id="less than ten percent more is tolerated"),
        pytest.param(56, 5, 6, id="more is not"),
        pytest.param(46, 5, 5, id="less than ten percent less is tolerated"),
        pytest.param(30, 5, 3, id="less is not"),
    ],
)
def test_replicas_follow_the_metric_by_its_average(metric: float, replicas: int, expected: int) -> None:
    assert wanted(metric, replicas, target=10) == expected


def test_down_goes_to_the_highest_recommendation_of_the_window() -> None:
    seen = [(0.0, 9), (290.0, 5), (300.0, 3)]
    assert stabilized(seen, 9, RULES, now=300.0) == 5
    assert stabilized(seen, 9, RULES, now=299.9) == 9


def test_up_waits_for_the_lowest_recommendation_of_its_window() -> None:
    patient = replace(RULES, up=replace(RULES.up, stabilization=60))
    assert stabilized([(0.0, 4), (50.0, 8)], 2, patient, now=50.0) == 4
    assert stabilized([(0.0, 4), (50.0, 8)], 2, RULES, now=50.0) == 8


def test_up_doubles_or_adds_four_in_a_period_whichever_is_more() -> None:
    assert limited(20, 1, [], RULES, now=0.0) == 5
    assert limited(20, 8, [], RULES, now=0.0) == 16


def test_a_period_counts_what_was_added_in_it() -> None:
    assert limited(20, 5, [(0.0, 4)], RULES, now=10.0) == 5
    assert limited(20, 5, [(0.0, 4)], RULES, now=16.0) == 10


def test_down_takes_no_more_than_its_policy_in_a_period() -> None:
    slow = replace(RULES, down=Behavior(stabilization=0, policies=(Policy(kind="Pods", value=2, seconds=60),)))
    assert limited(1, 10, [], slow, now=0.0) == 8
    assert limited(1, 8, [(0.0, -2)], slow, now=59.0) == 8
    assert limited(1, 8, [(0.0, -2)], slow, now=61.0) == 6


def test_the_fewest_and_the_most_are_kept() -> None:
    assert decide(1_000, 16, Seen(), AT_ONCE, now=0.0)[0] == 20
    assert decide(0, 4, Seen(), replace(AT_ONCE, fewest=2), now=0.0)[0] == 2


def test_an_hpa_without_keda_keeps_one() -> None:
    assert limited(0, 4, [], replace(AT_ONCE, fewest=0), now=0.0) == 1


def test_from_none_keda_goes_to_one_as_soon_as_the_metric_is_above_the_activation() -> None:
    none = replace(RULES, fewest=0, activation=5)
    assert decide(5, 0, Seen(), none, now=0.0)[0] == 0
    assert decide(6, 0, Seen(), none, now=0.0)[0] == 1


def test_to_none_keda_goes_when_it_saw_no_work_for_the_cooldown() -> None:
    none = replace(AT_ONCE, fewest=0, cooldown=300)
    replicas, seen = decide(3, 1, Seen(), none, now=0.0)
    replicas, seen = decide(0, replicas, seen, none, now=100.0)
    assert replicas == 1
    replicas, seen = decide(2, replicas, seen, none, now=200.0)
    assert decide(0, replicas, seen, none, now=499.0)[0] == 1
    assert decide(0, replicas, seen, none, now=500.0)[0] == 0


def test_a_burst_goes_up_in_steps_and_down_after_the_window() -> None:
    replicas, seen, steps = 1, Seen(), []
    for second in range(0, 600, 15):
        replicas, seen = decide(150 if second < 100 else 0, replicas, seen, RULES, now=float(second))
        steps.append(replicas)
    assert steps[:4] == [5, 10, 15, 15]
    # The last look at the burst was at 90 s, and counts for 300 s.
    assert (steps[375 // 15], steps[390 // 15]) == (15, 1)
