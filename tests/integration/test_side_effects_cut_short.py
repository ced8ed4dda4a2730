"""Served runs with handlers that were cut short by their time limit."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from tests.support.kept_values import kept
from tests.support.side_effects import Case, Clerk, Send

from turnwise import (
    ChatDocument,
    cancelled,
    check_cancelled,
)
from turnwise.base.background_loop import run_in_background
from turnwise.record.store import Store


class Slow(Clerk):
    """Sends for as long as it is left to, in the ways of `how`."""

    how = "async"

    async def _send(self) -> str:
        await asyncio.Event().wait()
        return "never"

    def send(self, tool: Send, idempotency_key: str) -> str:
        self.world.log.append((f"{tool.request} {tool.amount}", idempotency_key))
        if self.how == "async":
            return run_in_background(self._send)
        while not cancelled():
            time.sleep(0.001)
        if self.how == "stopped":
            check_cancelled()
        if self.how == "nothing":
            raise ValueError("nothing was sent")
        return f"{tool.request} {tool.amount} done, late"

    ship = insist = send


class SlowOutside(Slow):
    """Its own code is a handler that calls others."""

    def handle_message(self, msg: str | ChatDocument) -> Any:
        return super().handle_message(msg)


def slow(how: str, of: type[Slow] = Slow) -> type[Slow]:
    return type("Slow", (of,), {"how": how})


@pytest.mark.parametrize("how", ["async", "stopped"])
@pytest.mark.parametrize("calls", [["send 1"], ["look 0", "send 1"], ["insist 1"]])
def test_what_is_done_once_and_was_cut_short_by_its_time_limit_waits_for_a_person(
    store: Store, how: str, calls: list[str]
) -> None:
    case = Case(store, *calls, kind=slow(how))
    run = case.go_on()
    assert (run.status, kept(run.waiting_for).get("kind")) == ("waiting", "parked")
    tries = 2 if calls == ["insist 1"] else 1
    assert case.world.names == [*calls[:-1], *([calls[-1]] * tries)]
    why = kept(case.parked().parked)
    assert (why["tool"], why["call"], why["error"]["code"]) == (calls[-1].split()[0], len(calls), "timeout")
    assert why["worker"]["id"]
    case.resolve("happened", "sent by hand")
    assert "sent by hand" in case.said()
    assert case.world.names == [*calls[:-1], *([calls[-1]] * tries)]


def test_a_run_that_a_person_lets_fail_has_the_error_that_cut_the_call_short(store: Store) -> None:
    case = Case(store, "send 1", kind=slow("async"))
    case.go_on()
    run = case.resolve("fail")
    assert (run.status, kept(run.error)["code"], kept(run.error)["tool"]) == ("failed", "timeout", "send")


def test_an_agents_own_code_around_a_call_that_was_cut_short_is_parked_as_a_whole(store: Store) -> None:
    case = Case(store, "send 1", kind=slow("async", SlowOutside))
    assert case.go_on().status == "waiting"
    assert kept(case.parked().parked)["tool"] == "handle_message"


@pytest.mark.parametrize(("call", "how"), [("ship 1", "async"), ("send 1", "nothing")])
def test_a_call_of_which_all_is_known_ends_its_run(store: Store, call: str, how: str) -> None:
    case = Case(store, call, kind=slow(how))
    assert case.go_on().status == "failed"
    assert case.world.names == [call]


def test_the_late_result_of_a_handler_that_nobody_can_interrupt_is_taken(store: Store) -> None:
    case = Case(store, "send 1", "pay 2", kind=slow("late"))
    assert case.go_on().status == "completed"
    assert "send 1 done, late" in case.said()
    assert case.world.names == ["send 1", "pay 2"]
