"""A run whose OpenAI client is there is not taken for one whose client has left."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from tests.e2e.waiting import until
from tests.support.gateway_parts import Served, served

from turnwise.errors import DatabaseUnavailableError
from turnwise_gateway.openai_door.followed_run import DoorAnswer, FollowedRun, TokenSum


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as made:
        yield made


def the_run(desk: Served) -> dict[str, Any]:
    [run] = desk.http.get("/v1/runs").json()["items"]
    return dict(run)


def is_answered(desk: Served, run_id: str) -> bool:
    return any(event.type == "human.answered" for event in desk.store.inspector.events(run_id))


def respond(desk: Served, text: str, **more: Any) -> httpx2.Response:
    return desk.http.post("/v1/responses?wait=20", json={"model": "desk", "input": text, **more})


@pytest.mark.parametrize("stream", [False, True])
def test_a_database_that_is_away_for_a_moment_ends_no_run(
    desk: Served, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, failed = FollowedRun._look, threading.Event()

    def look_or_fail(self: FollowedRun) -> object:
        if not failed.is_set():
            failed.set()
            raise DatabaseUnavailableError("the database is away")
        return look(self)

    monkeypatch.setattr(FollowedRun, "_look", look_or_fail)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(respond, desk, "hello", stream=stream)
        assert failed.wait(20)
        desk.finish(the_run(desk)["id"], "It is done.")
        assert "It is done." in answer.result().text
    assert the_run(desk)["cancel_requested_at"] is None


def test_a_repeated_request_whose_client_leaves_ends_no_run(desk: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[bool] = []
    leave = FollowedRun._leave

    def noted(self: FollowedRun) -> None:
        leave(self)
        left.append(self.replayed)

    monkeypatch.setattr(FollowedRun, "_leave", noted)
    run_id = desk.submit()
    desk.ask_human(run_id)
    first = f"resp_{run_id.removeprefix('run_')}_0"
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(respond, desk, "yes", previous_response_id=first)
        until(lambda: is_answered(desk, run_id), "the answer")
        with pytest.raises(httpx2.ReadTimeout):
            body = {"model": "desk", "input": "yes", "previous_response_id": first}
            desk.http.post("/v1/responses?wait=20", json=body, timeout=0.5)
        until(lambda: left, "the second client to have left")
        assert left == [True]
        desk.finish(run_id, "It is done.")
        assert answer.result().status_code == 200
    assert the_run(desk)["cancel_requested_at"] is None


@pytest.mark.parametrize("ended", [False, True])
def test_a_client_that_leaves_at_the_last_piece_ends_only_a_run_without_an_answer(
    ended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled: list[bool] = []

    async def last_piece(self: FollowedRun, *, text: bool) -> AsyncGenerator[str]:
        if ended:
            self.outcome = DoorAnswer(text="Which order?", cut=False, usage=TokenSum(0, 0, 0))
        yield "Which order?"

    async def leave() -> None:
        given: dict[str, Any] = dict.fromkeys(("request", "run", "used_before", "shown"))
        gateway: Any = SimpleNamespace(watch=SimpleNamespace(stopping=False))
        followed = FollowedRun(gateway=gateway, after=0, cancels=True, wait=1, **given)
        pieces = followed.pieces(text=True)
        assert await anext(pieces) == "Which order?"
        await pieces.aclose()
        await asyncio.get_running_loop().shutdown_default_executor()

    monkeypatch.setattr(FollowedRun, "_pieces", last_piece)
    monkeypatch.setattr(FollowedRun, "_cancel", lambda _: cancelled.append(True))
    asyncio.run(leave())
    assert cancelled == ([] if ended else [True])
