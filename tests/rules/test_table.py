"""Every rule has a scenario, every scenario a rule, and the table says which."""

from __future__ import annotations

from collections import Counter

from tests.golden.model import load_all
from tests.rules.catalogue import scenarios
from tests.rules.rule import rules
from tests.rules.scenario import WAYS
from tests.rules.table import PAGE, own, recorded, table


def test_each_rule_has_a_number_of_its_own() -> None:
    assert [rule for rule, count in Counter(rule.id for rule in rules()).items() if count > 1] == []


def test_each_rule_is_covered_by_a_scenario_of_our_own() -> None:
    assert [rule.id for rule in rules() if not own(rule)] == []


def test_each_scenario_covers_rules_that_exist() -> None:
    known = {rule.id for rule in rules()}

    assert {each.id: each.covers for each in scenarios() if not each.covers or set(each.covers) - known} == {}


def test_the_table_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == table(), "write it anew: python -m tests.rules.table --write"


def test_the_table_names_recorded_scenarios_and_rules_that_exist() -> None:
    assert set(recorded()) <= {rule.id for rule in rules()}
    assert {name for names in recorded().values() for name in names} <= {each.id for each in load_all()}


def test_there_are_enough_scenarios_of_our_own() -> None:
    assert len(scenarios()) >= 150


def test_a_scenario_is_played_in_every_way_unless_it_says_why_not() -> None:
    excused = {each.id: dict(each.never) for each in scenarios() if each.never}

    assert all(set(reasons) < set(WAYS) for reasons in excused.values()), excused
    assert all(reason for reasons in excused.values() for reason in reasons.values()), excused
