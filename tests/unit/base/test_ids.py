"""Identifiers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
import uuid

import pytest

from turnwise.base.ids import ids_from, new_id, uuid7


def test_an_id_says_what_it_names_and_holds_a_uuid_of_version_7() -> None:
    prefix, _, digits = new_id("run").partition("_")
    assert prefix == "run"
    assert re.fullmatch("[0-9a-f]{32}", digits)
    made = uuid.UUID(digits)
    assert (made.version, made.variant) == (7, uuid.RFC_4122)


def test_the_time_is_in_the_first_48_bits() -> None:
    before = time.time_ns() // 1_000_000
    made = int(uuid7()[:12], 16)
    assert before <= made <= time.time_ns() // 1_000_000 + 10


def test_ids_of_one_process_sort_in_the_order_in_which_they_were_made() -> None:
    made = [uuid7() for _ in range(20_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_they_still_do_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    first = uuid7()
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000)
    assert [first, *(later := [uuid7() for _ in range(5000)])] == sorted([first, *later])


def test_ids_made_by_several_threads_are_all_different() -> None:
    made: list[str] = []
    threads = [threading.Thread(target=lambda: made.extend([uuid7() for _ in range(2000)])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 8000


_FORKING = """
import os
from turnwise.base.ids import uuid7
uuid7()  # so that random bytes are at hand before the fork
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, "".join(uuid7()[16:] for _ in range(50)).encode())
    os._exit(0)
mine = {uuid7()[16:] for _ in range(50)}
os.wait()
theirs = os.read(read, 16 * 50).decode()
print(sum(theirs[i : i + 16] in mine for i in range(0, len(theirs), 16)), len(theirs))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_does_not_repeat_the_ids_of_its_parent() -> None:
    told = subprocess.run([sys.executable, "-c", _FORKING], capture_output=True, text=True, check=True, timeout=30)
    assert told.stdout.split() == ["0", "800"]


def test_a_context_may_bring_a_source_of_its_own() -> None:
    numbers = iter(range(1, 10))
    with ids_from(lambda: f"{next(numbers):032x}"):
        assert [new_id("run"), new_id("doc")] == [f"run_{1:032x}", f"doc_{2:032x}"]
    assert len({new_id("run"), new_id("run")}) == 2
