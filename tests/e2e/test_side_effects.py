"""A worker is killed with -9 in the middle of a handler: what the handler does outside is not doubled, and not lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import side_effects
from tests.e2e.installation import Embedded, distributed_on
from tests.e2e.served import status_once
from tests.e2e.waiting import until
from tests.support.brokers import fresh_rabbitmq
from tests.support.client_views import parked_asks, present

from turnwise.api.inbox import ParkedView
from turnwise.base.ids import new_id
from turnwise.client import Client
from turnwise.errors import ConflictError

APP = "tests.e2e.side_effects:app"
PLACES = ["embedded", pytest.param("distributed", marks=[pytest.mark.postgres, pytest.mark.rabbitmq])]


@dataclass(frozen=True, kw_only=True)
class Place:
    """An installation, and how whoever calls the handlers is killed and replaced."""

    client: Client
    kill: Callable[[], object]
    folder: Path

    def log(self, ref: str) -> list[dict[str, Any]]:
        """Return the effects for `ref`."""
        file = self.folder / "log"
        lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return [line for line in lines if line["ref"] == ref]

    def killed_in(self, call: str, *around: str) -> tuple[str, str]:
        """A run whose worker was killed in the middle of `call`, a tool's name, where `{}` stands for it in `around`.

        Gives the run, and the reference of that call.
        """
        ref = new_id("ref")
        hold = self.folder / f"hold-{ref}"
        hold.touch()
        calls = [f"{call} {ref}" if one == "{}" else one for one in around or ("{}",)]
        run = self.client.submit("clerk", f"please {', '.join(calls)}").id
        until(lambda: self.log(ref), f"{call} to be in the middle")
        self.kill()
        hold.unlink()
        return str(run), ref

    def parked(self, run: str) -> ParkedView:
        """Return the parked ask of the run, once there is one."""

        def look() -> ParkedView | None:
            return next((item for item in parked_asks(self.client.inbox()) if item.run == run), None)

        return until(look, f"something of {run} to be parked")


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("effects")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(side_effects.FOLDER, str(folder))
        if request.param == "embedded":
            server = Embedded(folder, APP)
            try:
                with Client(server.url) as client:
                    yield Place(client=client, kill=server.kill_and_restart, folder=folder)
            finally:
                server.stop()
            return
        with distributed_on(fresh_rabbitmq, folder, APP) as installation, Client(installation.url) as client:
            yield Place(client=client, kill=lambda: installation.kill_and_replace("agent"), folder=folder)


@pytest.mark.parametrize("tool", ["look", "book"])
def test_what_may_be_called_again_is_called_again_with_its_key(place: Place, tool: str) -> None:
    run, ref = place.killed_in(tool)
    status_once(place.client, run, "completed")
    log = place.log(ref)
    assert len(log) == 2
    assert len({line["key"] for line in log}) == 1


def test_a_call_that_happened_is_not_made_again(place: Place) -> None:
    run, ref = place.killed_in("pay")
    item = place.parked(run)
    assert (item.kind, item.tool, item.arguments) == ("parked", "pay", {"ref": ref})
    assert item.idempotency_key == place.log(ref)[0]["key"]
    assert present(place.client.run(run).waiting_for)["kind"] == "parked"
    place.client.resolve(item.id, "happened", f"pay {ref} done by hand")
    ended = status_once(place.client, run, "completed")
    assert present(ended.result).content == f"pay {ref} done by hand"
    assert len(place.log(ref)) == 1
    with pytest.raises(ConflictError):
        place.client.resolve(item.id, "again")


def test_a_call_is_made_again_only_because_a_person_says_so(place: Place) -> None:
    run, ref = place.killed_in("pay")
    item = place.parked(run)
    assert len(place.log(ref)) == 1
    place.client.resolve(item.id, "again")
    ended = status_once(place.client, run, "completed")
    assert present(ended.result).content == f"pay {ref} done"
    log = place.log(ref)
    assert len(log) == 2
    assert len({line["key"] for line in log}) == 1


def test_a_run_fails_where_a_person_says_so(place: Place) -> None:
    run, ref = place.killed_in("pay")
    place.client.resolve(place.parked(run).id, "fail")
    ended = status_once(place.client, run, "failed")
    assert (ended.status_code, present(ended.error)["tool"]) == ("ERROR", "pay")
    assert len(place.log(ref)) == 1


def test_a_parked_run_can_be_cancelled(place: Place) -> None:
    run, ref = place.killed_in("pay")
    item = place.parked(run)
    place.client.cancel(run)
    status_once(place.client, run, "cancelled")
    assert item.id not in [one.id for one in place.client.inbox()]
    assert len(place.log(ref)) == 1


def test_of_several_calls_those_that_have_ended_stand(place: Place) -> None:
    before, after = new_id("ref"), new_id("ref")
    run, ref = place.killed_in("pay", f"pay {before}", "{}", f"book {after}")
    item = place.parked(run)
    assert item.arguments == {"ref": ref}
    place.client.resolve(item.id, "happened", f"pay {ref} done")
    ended = status_once(place.client, run, "completed")
    results = (f"Result from pay: pay {before} done", f"Result from pay: pay {ref} done")
    assert present(ended.result).content.split("\n\n") == [*results, f"Result from book: book {after} done"]
    assert [len(place.log(one)) for one in (before, ref, after)] == [1, 1, 1]


def test_what_was_paid_before_a_crash_in_a_later_call_is_not_paid_twice(place: Place) -> None:
    before = new_id("ref")
    run, ref = place.killed_in("book", f"pay {before}", "{}")
    ended = status_once(place.client, run, "completed")
    assert f"pay {before} done" in present(ended.result).content
    assert (len(place.log(before)), len(place.log(ref))) == (1, 2)
