"""Output that cannot be written, such as to a full disk, is one line on stderr."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_a_command_says_in_a_line_that_its_output_has_no_room(arguments: list[str]) -> None:
    with FULL.open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "turnwise.cli.main", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    assert ended.returncode == 2
    assert ended.stderr == (
        "turnwise: cannot write to standard output: No space left on device; make room, or send it elsewhere\n"
    )
