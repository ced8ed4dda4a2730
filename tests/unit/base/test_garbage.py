"""The memory of a long-lived process for what it no longer uses."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from turnwise.app import load_app
from turnwise.base.garbage import collections_paused

# Holds 800,000 objects as a service holds its modules, then drops 400,000 that hold themselves, as errors and their
# frames hold each other; each after it has been used for so long that only a full collection finds it.
_MANY = """
import gc, sys, weakref
from collections import deque
from turnwise.base.garbage import keep_memory_tidy

class Knot:
    def __init__(self):
        self.held = self

loaded = [[] for _ in range(800_000)]
# The same for each version of Python: how often it considers a full collection is no part of the question.
gc.set_threshold(700, 10, 10)
gc.collect()
if sys.argv[1] == "tidy":
    keep_memory_tidy(every=1000)
known = weakref.WeakSet()
used = deque(maxlen=10_000)
most = 0
for _ in range(400_000):
    used.append(Knot())
    known.add(used[-1])
    most = max(most, len(known) - len(used))
print(most)
"""

# A single one, as a lost connection is; nothing else is made that would set a collection off.
_ONE = """
import threading, weakref
from turnwise.base.garbage import keep_memory_tidy

class Knot:
    def __init__(self):
        self.held = self

keep_memory_tidy(every=0.05)
gone = threading.Event()
weakref.finalize(Knot(), gone.set)
print(gone.wait(10))
"""

_APPLICATION = """
import gc
from turnwise import App, ChatAgent, Task
app = App("told")
enabled = gc.isenabled()

@app.task(name="talk")
def talk():
    return Task(ChatAgent())
"""


def _printed(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_little_is_left_lying_about_once_what_is_loaded_is_set_apart() -> None:
    assert int(_printed(_MANY, "tidy")) < int(_printed(_MANY, "as it is")) / 2


def test_what_is_left_is_found_after_a_while_even_if_it_is_little() -> None:
    assert _printed(_ONE) == "True"


def test_nothing_is_collected_while_collections_are_paused_and_again_afterwards() -> None:
    with pytest.raises(ValueError, match="within"), collections_paused():
        assert not gc.isenabled()
        raise ValueError("within")

    assert gc.isenabled()


def test_a_pause_leaves_collections_off_that_were_off_before() -> None:
    gc.disable()
    try:
        with collections_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_application_is_loaded_while_collections_are_paused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "told_of_collections.py").write_text(_APPLICATION)
    monkeypatch.syspath_prepend(tmp_path)

    load_app("told_of_collections")

    assert not sys.modules["told_of_collections"].enabled
    assert gc.isenabled()
