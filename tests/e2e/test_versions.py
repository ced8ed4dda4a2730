"""Two versions of an application side by side, on one database and one broker, with the same queues."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.installation import Distributed, distributed_on
from tests.e2e.waiting import until
from tests.support.brokers import fresh_redis
from tests.support.client_views import numbered, present

from turnwise.client import Client
from turnwise.errors import InvalidRequestError

# They start their own processes, of two versions.
pytestmark = pytest.mark.timeout(600)

_OLD, _NEW = "tests.e2e.versioned:old", "tests.e2e.versioned:new"


@pytest.mark.postgres
@pytest.mark.redis
def test_pinned_runs_are_served_by_processes_of_their_own_version(tmp_path: Path) -> None:
    with distributed_on(fresh_redis, tmp_path, _NEW, version_policy="pinned") as new, Client(new.url) as client:
        # given runs of both versions, while nobody has the old one
        ids = [str(client.submit("desk", f"run {n}", version=["1.0", "2.0"][n % 2]).id) for n in range(6)]
        for run_id in ids[1::2]:
            _asked(client, run_id)
        waiting_for = present(client.run(ids[0]).waiting_for)
        assert (waiting_for["kind"], waiting_for["version"]) == ("version", "1.0")

        # when processes of the old version come up, and humans answer over the gateway of the new one
        (tmp_path / "old").mkdir()
        old = Distributed(new.database, new.broker, tmp_path / "old", _OLD, version_policy="pinned")
        try:
            for process in (old.launch("coordinator"), old.launch("llm")):
                process.wait_ready()
            for answer in ("more", "q"):
                for run_id in ids:
                    _asked(client, run_id)
                    client.answer(run_id, answer)
            for run_id in ids:
                until(lambda run_id=run_id: client.run(run_id).finished_at, "the run to end")  # type: ignore[misc]
        finally:
            old.stop()

        # then each was served by its own version alone
        for n, run_id in enumerate(ids):
            run, version = client.run(run_id), ["1.0", "2.0"][n % 2]
            assert (run.version, run.status_code) == (version, "USER_QUIT")
            events = list(numbered(client.events(run_id)))
            replied = [present(event.data) for event in events if event.type == "turn.replied"]
            said = [present(data["document"])["content"] for data in replied]
            assert said == [f"version {version} heard run {n}", f"version {version} heard more"]
            assert not [event for event in events if "version" in (event.data or {}) and event.seq > 1]


@pytest.mark.postgres
@pytest.mark.redis
def test_a_new_version_adopts_the_runs_of_the_old_one(tmp_path: Path) -> None:
    with distributed_on(fresh_redis, tmp_path, _OLD) as old, Client(old.url) as client:
        with pytest.raises(InvalidRequestError, match="TURNWISE_VERSION_POLICY is adopt"):
            client.submit("desk", "hello", version="2.0")
        run_id = str(client.submit("desk", "one").id)
        _asked(client, run_id)
        # when every process is replaced, the way an operator deploys
        for process in old.processes.values():
            process.stop()
        old.settings["app"] = _NEW
        old.start()
        client.answer(run_id, "two")
        _asked(client, run_id)
        client.answer(run_id, "q")
        until(lambda: client.run(run_id).finished_at, "the run to end")

        events = list(numbered(client.events(run_id)))

    replied = [present(event.data) for event in events if event.type == "turn.replied"]
    said = [present(data["document"])["content"] for data in replied]
    assert said == ["version 1.0 heard one", "version 2.0 heard two"]
    assert [data.get("version") for data in replied] == [None, "2.0"]


def _asked(client: Client, run_id: str) -> None:
    """Wait until the run asks its human."""

    def look() -> bool:
        waiting_for = client.run(run_id).waiting_for
        return waiting_for is not None and waiting_for["kind"] == "human"

    until(look, f"{run_id} to ask")
