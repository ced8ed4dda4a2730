"""A stream or a long wait that was let in once ends when its key or token does not let it in any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
import sqlalchemy as sa
from tests.support.access_parts import ALL, OWNER, World, world
from tests.support.either_database import database, postgres_url
from tests.support.gateway_parts import served
from tests.support.issuer import issuer

from turnwise.record.database.access_schema import api_keys
from turnwise.record.database.database import Database
from turnwise.record.tenants.caller import RUNS_READ

__all__ = ["database", "postgres_url"]

# Far more than the 5 s that are promised; a stream that does not end fails here.
PATIENCE = 30.0


@pytest.fixture
def here(database: Database, tmp_path: Path) -> Iterator[World]:
    with world(tmp_path, database=database) as made:
        yield made


def bearer(token: str) -> dict[str, str]:
    """Return the headers of a request with that token."""
    return {"Authorization": f"Bearer {token}"}


@contextmanager
def watching(url: str, run: str, headers: dict[str, str]) -> Iterator[tuple[list[str], threading.Event]]:
    """Return the lines of an open stream, and when it has ended."""
    lines: list[str] = []
    begun, ended = threading.Event(), threading.Event()

    def watch() -> None:
        with httpx2.stream("GET", f"{url}/v1/runs/{run}/events", headers=headers, timeout=PATIENCE) as answer:
            for line in answer.iter_lines():
                lines.append(line)
                begun.set()
        ended.set()

    thread = threading.Thread(target=watch)
    thread.start()
    assert begun.wait(PATIENCE)
    yield lines, ended
    thread.join(PATIENCE)


def _revoke(here: World, key_id: str) -> None:
    here.gateway.store.operator().revoke_key(key_id)


def _expire(here: World, key_id: str) -> None:
    with here.gateway.store.database.begin() as connection:
        connection.execute(sa.update(api_keys).where(api_keys.c.id == key_id).values(expires_at=1.0))


def _narrow(here: World, key_id: str) -> None:
    with here.gateway.store.database.begin() as connection:
        connection.execute(sa.update(api_keys).where(api_keys.c.id == key_id).values(scopes=["runs:write"]))


@pytest.mark.parametrize("end", [_revoke, _expire, _narrow], ids=["revoked", "expired", "scope-lost"])
def test_streams_end_with_their_key_on_every_gateway_and_others_go_on(
    here: World, database: Database, tmp_path: Path, end: Callable[[World, str], None]
) -> None:
    run = here.owned["waiting"]
    lost, kept = here.key(OWNER, *ALL), here.key(OWNER, *ALL)
    with (
        served(tmp_path, database=database, auth="keys") as other,
        watching(here.gateway.base_url, run, bearer(lost[1])) as (_, first_ended),
        watching(other.base_url, run, bearer(lost[1])) as (_, second_ended),
        watching(here.gateway.base_url, run, bearer(kept[1])) as (lines, kept_ended),
    ):
        end(here, lost[0].id)

        assert first_ended.wait(PATIENCE)
        assert second_ended.wait(PATIENCE)
        assert not kept_ended.is_set()
        here.gateway.finish(run)
        assert kept_ended.wait(PATIENCE)

    assert "event: run.completed" in lines


def test_nothing_is_told_over_a_stream_whose_key_was_revoked(here: World) -> None:
    run, (record, secret) = here.owned["waiting"], here.key(OWNER, RUNS_READ)
    with watching(here.gateway.base_url, run, bearer(secret)) as (lines, ended):
        here.gateway.store.operator().revoke_key(record.id)
        assert ended.wait(PATIENCE)

        here.gateway.finish(run)

    assert "event: run.completed" not in lines


def test_so_does_a_wait_for_the_end_of_a_run(here: World) -> None:
    record, secret = here.key(OWNER, *ALL)
    headers, answers = {"Authorization": f"Bearer {secret}"}, list[httpx2.Response]()
    body = {"task": "desk", "message": "hello"}

    def submit() -> None:
        url = f"{here.gateway.base_url}/v1/runs?wait=60"
        answers.append(httpx2.post(url, json=body, headers=headers, timeout=PATIENCE))

    before = len(here.gateway.store.tenant(OWNER).runs(limit=200)[0])
    thread = threading.Thread(target=submit)
    thread.start()
    waiting = threading.Event()
    while len(here.gateway.store.tenant(OWNER).runs(limit=200)[0]) == before:
        waiting.wait(0.02)
    here.gateway.store.operator().revoke_key(record.id)
    thread.join(PATIENCE)

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(401, "unauthorized")]


def test_a_stream_ends_when_its_token_of_an_issuer_expires(tmp_path: Path) -> None:
    with issuer() as signing:
        settings = {"auth": "keys", "oidc_issuer": signing.url, "oidc_audience": "turnwise", "oidc_leeway": 0}
        with world(tmp_path, **settings) as here:
            token = signing.token(exp=int(time.time()) + 3, tenant=OWNER)
            with watching(here.gateway.base_url, here.owned["waiting"], bearer(token)) as (_, ended):
                assert ended.wait(PATIENCE)
