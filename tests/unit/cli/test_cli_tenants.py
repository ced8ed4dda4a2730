"""`turnwise tenants`, on a database of its own."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from tests.support.cli import Terminal, migrated, terminal

from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import TenantLimits

__all__ = ["migrated", "terminal"]

NONE = {
    "day_max_cost": None,
    "day_max_tokens": None,
    "month_max_cost": None,
    "month_max_tokens": None,
    "requests_per_minute": None,
    "max_unfinished_runs": None,
}


def test_limits_are_set_listed_and_what_is_left_out_is_taken_back(migrated: Terminal) -> None:
    migrated.run("tenants", "set", "acme", "--day-max-cost", "5.00", "--month-max-tokens", "1000000")
    migrated.run("tenants", "set", "rival", "--requests-per-minute", "0", "--max-unfinished-runs", "3")
    first = json.loads(migrated.run("tenants", "list", "--json"))
    migrated.run("tenants", "set", "acme", "--day-max-tokens", "9")
    told = migrated.run("tenants", "list")

    assert first == [
        {"id": "acme", **NONE, "day_max_cost": "5.00", "month_max_tokens": 1_000_000},
        {"id": "rival", **NONE, "requests_per_minute": 0, "max_unfinished_runs": 3},
    ]
    assert told.splitlines() == ["acme: day_max_tokens 9", "rival: requests_per_minute 0, max_unfinished_runs 3"]


def test_without_any_a_sentence_says_so(migrated: Terminal) -> None:
    assert migrated.printed("tenants", "list", code=0) == ""
    assert json.loads(migrated.printed("tenants", "list", "--json", code=0)) == []
    assert "No tenant has limits of its own" in migrated.whole("tenants", "list")


def test_more_tenants_than_a_page_are_listed(migrated: Terminal) -> None:
    names = [f"tenant-{number:03}" for number in range(205)]
    database = Database(f"sqlite:///{migrated.folder / 'turnwise.db'}")
    store = Store(database)
    for name in names:
        store.operator().set_tenant_limits(name, TenantLimits(day_max_cost=Decimal(1)))
    database.close()

    assert [row["id"] for row in json.loads(migrated.run("tenants", "list", "--json"))] == names


def test_what_is_set_is_in_the_audit_log(migrated: Terminal) -> None:
    migrated.run("tenants", "set", "acme", "--day-max-cost", "5")

    database = Database(f"sqlite:///{migrated.folder / 'turnwise.db'}")
    [row] = Store(database).operator().audit()
    database.close()

    assert (row.tenant, row.action, row.resource) == ("acme", "set_tenant", "acme")
    assert row.actor.startswith("cli")


@pytest.mark.parametrize("amount", ["five", "-1", "NaN", "Infinity", "1e3", ""])
def test_what_is_no_amount_is_refused_and_changes_nothing(migrated: Terminal, amount: str) -> None:
    told = migrated.run("tenants", "set", "acme", "--day-max-cost", amount, code=2)

    assert f"{amount!r} is not an amount in US dollars" in told
    assert json.loads(migrated.run("tenants", "list", "--json")) == []


@pytest.mark.parametrize(
    ("option", "most"),
    [
        ("--requests-per-minute", 2**31),
        ("--max-unfinished-runs", 2**31),
        ("--day-max-tokens", 2**53),
        ("--month-max-tokens", 2**53),
    ],
)
def test_a_limit_that_the_api_refuses_is_refused(migrated: Terminal, option: str, most: int) -> None:
    for value, told in ((most, f"less than {most}"), (-1, "greater than or equal to 0")):
        error = " ".join(migrated.run("tenants", "set", "acme", option, str(value), code=2).replace("│", " ").split())

        assert f"Invalid value for {option}: Input should be {told}" in error
    assert json.loads(migrated.run("tenants", "list", "--json")) == []


def test_a_name_that_no_tenant_can_have_is_told_in_a_line(migrated: Terminal) -> None:
    assert "'a/b' is not a valid tenant" in migrated.refused("tenants", "set", "a/b", "--day-max-tokens", "1")
