"""`turnwise keys`, on a database of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cli import Terminal, migrated, terminal

from turnwise.record.database.access_schema import api_keys
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.record.tenants.api_key import ApiKey
from turnwise.record.tenants.keys import NewKey
from turnwise.record.tenants.reach import OneTenant

__all__ = ["migrated", "terminal"]


def created(terminal: Terminal, *options: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(terminal.run("keys", "create", "--json", *options))
    return made


def found(terminal: Terminal, secret: str) -> bool:
    key, database = ApiKey.parse(secret), Database(f"sqlite:///{terminal.folder / 'turnwise.db'}")
    assert key is not None
    try:
        kept = Store(database).authentication.find_key(key.prefix)
        return kept is not None and key.has_hash(kept.hash)
    finally:
        database.close()


def test_the_first_key_is_printed_alone_so_that_a_script_can_keep_it(migrated: Terminal) -> None:
    secret = migrated.run("keys", "create", "--scope", "admin").strip()

    assert found(migrated, secret)


def test_without_any_a_sentence_says_so(migrated: Terminal) -> None:
    assert migrated.printed("keys", "list", code=0) == ""
    assert json.loads(migrated.printed("keys", "list", "--json", code=0)) == []
    assert "There are no keys; make one with `turnwise keys create`." in migrated.whole("keys", "list")


def test_keys_are_made_listed_rotated_and_taken_back(migrated: Terminal) -> None:
    first = created(migrated, "--tenant", "acme", "--name", "shop", "--scope", "admin", "--scope", "runs:read")
    second = json.loads(migrated.run("keys", "rotate", first["id"], "--overlap-hours", "1", "--json"))
    other = created(migrated, "--days", "1")
    migrated.run("keys", "revoke", second["id"])

    listed = json.loads(migrated.run("keys", "list", "--json"))

    assert [key["id"] for key in listed] == [other["id"], second["id"], first["id"]]
    assert (first["scopes"], other["scopes"]) == (["runs:read", "admin"], ["runs:read", "runs:write"])
    assert other["expires_at"] is not None
    assert (listed[2]["replaced_by"], listed[1]["revoked_at"] is None) == (second["id"], False)
    assert [found(migrated, key["secret"]) for key in (first, second, other)] == [True, False, True]
    assert "secret" not in listed[0]
    table = migrated.run("keys", "list", "--tenant", "acme")
    assert first["id"] in table and other["id"] not in table


@pytest.mark.parametrize("name", ["backend [/prod]", "[blue] shop :smile:"])
def test_a_name_is_shown_as_it_is(migrated: Terminal, name: str) -> None:
    created(migrated, "--name", name)

    assert name in migrated.run("keys", "list")


def test_a_name_that_could_be_given_once_is_shown_and_its_key_rotated(migrated: Terminal) -> None:
    database = Database(f"sqlite:///{migrated.folder / 'turnwise.db'}")
    new = NewKey(tenant="acme", name="a\N{ESCAPE}[31mb", scopes=("runs:read",), created_by="cli")
    key, _ = Store(database).operator().create_key(new)
    database.close()

    assert r"a\x1b[31mb" in migrated.run("keys", "list")
    assert json.loads(migrated.run("keys", "rotate", key.id, "--json"))["name"] == new.name


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "at least 1 character"),
        ("x" * 101, "at most 100 characters"),
        ("two\nlines", "control characters are not allowed here"),
        ("a\N{ESCAPE}[31mb", "control characters are not allowed here"),
    ],
)
def test_a_name_that_the_api_refuses_is_refused(migrated: Terminal, name: str, told: str) -> None:
    error = " ".join(migrated.run("keys", "create", "--name", name, code=2).replace("│", " ").split())

    assert "Invalid value for --name: " in error
    assert told in error
    assert json.loads(migrated.run("keys", "list", "--json")) == []


def test_a_key_that_lives_beyond_all_years_is_listed(migrated: Terminal) -> None:
    key = created(migrated, "--days", "3653")
    database = Database(f"sqlite:///{migrated.folder / 'turnwise.db'}")
    with database.begin() as connection:
        connection.execute(sa.update(api_keys).values(expires_at=1e13))
    database.close()

    assert key["id"] in migrated.run("keys", "list")
    [listed] = json.loads(migrated.run("keys", "list", "--json"))
    assert listed["expires_at"] == "9999-12-31T23:59:59Z"


def test_what_a_command_does_is_in_the_audit_log(migrated: Terminal) -> None:
    key = created(migrated, "--tenant", "acme")
    other = json.loads(migrated.run("keys", "rotate", key["id"], "--json"))
    migrated.run("keys", "revoke", other["id"])

    database = Database(f"sqlite:///{migrated.folder / 'turnwise.db'}")
    # As the tenant's own administrators see it.
    rows = Store(database).administrator(OneTenant("acme")).audit()
    database.close()

    assert [(row.action, row.resource) for row in rows] == [
        ("revoke_key", other["id"]),
        ("rotate_key", key["id"]),
        ("create_key", key["id"]),
    ]
    assert all(row.actor.startswith("cli") for row in rows)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["create", "--scope", "everything"], "expected some of runs:read, runs:write, admin"),
        (["create", "--tenant", "a/b"], "'a/b' is not a valid tenant"),
        (["revoke", "key_0"], "there is no key 'key_0'"),
        (["rotate", "key_0"], "there is no key 'key_0'"),
    ],
)
def test_a_mistake_is_told_in_a_line(migrated: Terminal, words: list[str], said: str) -> None:
    assert said in migrated.refused("keys", *words)


@pytest.mark.parametrize(
    ("words", "most"),
    [(["create", "--days", "31536000"], 3_653), (["rotate", "key_0", "--overlap-hours", "1e9"], 2_160)],
)
def test_times_beyond_those_of_the_api_are_refused(migrated: Terminal, words: list[str], most: int) -> None:
    told = migrated.run("keys", *words, code=2)
    assert f"less than or equal to {most}" in " ".join(told.replace("│", " ").split())


def test_a_database_without_tables_says_what_to_run(terminal: Terminal) -> None:
    assert "run `turnwise migrate`" in terminal.refused("keys", "create")
