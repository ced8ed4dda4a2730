"""A queue is paused for a worker and for the children that it forks, before or after."""

from __future__ import annotations

import os

import pytest

from turnwise.bus.worker.queue_switches import QueueSwitches

# Later Pythons warn where other threads run, such as those of earlier tests; these children do next to nothing.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def _child_sees(switches: QueueSwitches, queue: str) -> bool:
    pid = os.fork()
    if pid == 0:
        os._exit(int(switches.paused(queue)))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1


def test_a_pause_of_the_parent_holds_in_a_child_that_was_forked_before() -> None:
    switches = QueueSwitches(["llm@v1", "agent@v1"])
    asks, answers = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(asks[0], 1)
        os.write(answers[1], bytes([switches.paused("agent"), switches.paused("llm")]))
        os._exit(0)
    switches.pause("agent")
    os.write(asks[1], b"?")
    seen = os.read(answers[0], 2)
    os.waitpid(pid, 0)
    for end in (*asks, *answers):
        os.close(end)

    assert seen == bytes([True, False])
    assert _child_sees(switches, "agent")
    switches.resume("agent")
    assert not _child_sees(switches, "agent")


def test_a_process_says_what_is_paused_and_takes_no_word_for_queues_that_it_does_not_know() -> None:
    switches = QueueSwitches(["llm", "agent"])
    assert switches.told() == "ok"
    switches.pause("llm")
    assert switches.told() == "ok; paused by remote control: llm"
    assert not switches.paused("coordinator")


def test_what_a_worker_was_started_for_is_said_once() -> None:
    switches = QueueSwitches(["llm@v1", "agent@v1"])
    switches.serve(["llm@v1"])
    switches.serve([])
    switches.serve(["agent@v1"])
    assert switches.served == {"llm": "llm@v1"}
