"""The example of a simulated team is a test that runs, and its fixture takes its options."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def pytest_run(*options: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/simulated_team", *options]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=110)


def test_the_example_passes() -> None:
    done = pytest_run()
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_one_schedule_can_be_chosen() -> None:
    done = pytest_run("--simulate-seed=7")
    # The test counts the runs of all its schedules.
    assert "assert 20 <= " in done.stdout
