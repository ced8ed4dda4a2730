"""Coroutines that synchronous code waits for."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading

import pytest

from turnwise.base.background_loop import background_loop, run_in_background

tenant = contextvars.ContextVar("tenant", default="nobody")


async def loop_and_tenant() -> tuple[asyncio.AbstractEventLoop, str]:
    await asyncio.sleep(0)
    return asyncio.get_running_loop(), tenant.get()


def test_every_call_runs_on_the_one_loop_in_the_context_of_its_caller() -> None:
    seen = []

    def call(name: str) -> None:
        tenant.set(name)
        seen.append(run_in_background(loop_and_tenant))

    threads = [threading.Thread(target=call, args=(name,)) for name in ("ann", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {loop for loop, _ in seen} == {background_loop()}
    assert {name for _, name in seen} == {"ann", "bob"}


def test_an_error_is_raised_where_somebody_waits() -> None:
    async def fail() -> None:
        raise LookupError("no such page")

    with pytest.raises(LookupError, match="no such page"):
        run_in_background(fail)


FORKED = """
import os, warnings
from turnwise.base.background_loop import run_in_background
async def pid():
    return os.getpid()
assert run_in_background(pid) == os.getpid()
warnings.simplefilter("ignore", DeprecationWarning)
child = os.fork()
if child == 0:
    ok = run_in_background(pid) == os.getpid()
    print("child", ok, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print("parent", run_in_background(pid) == os.getpid())
"""


def test_a_forked_child_has_a_loop_of_its_own_and_the_end_of_the_program_is_quiet() -> None:
    ran = subprocess.run([sys.executable, "-W", "error", "-c", FORKED], capture_output=True, text=True, check=True)

    assert (ran.stdout, ran.stderr) == ("child True\nparent True\n", "")
