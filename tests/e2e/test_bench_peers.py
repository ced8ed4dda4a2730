"""The benchmark beside other libraries, as far as it needs none of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.peers.contest import ROOT
from bench.peers.document import read
from bench.peers.page import written


@pytest.mark.timeout(300)
def test_a_quick_round_measures_what_needs_no_server_and_no_peer(tmp_path: Path) -> None:
    file = tmp_path / "findings.json"
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "bench.peers", "--quick", "--json", str(file)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = read(file)
    assert {sample.contender for sample in found.samples} == {
        "turnwise-sync",
        "turnwise-async",
        "turnwise-embedded-normal",
        "turnwise-embedded-full",
    }
    assert not found.left_out
    assert all(sample.rate > 0 and sample.cpu > 0 for sample in found.samples)
    assert found.contenders["turnwise-embedded-full"].settings == {
        "moves": "worker",
        "journal_mode": "wal",
        "synchronous": "2",
    }
    assert "| Turnwise, embedded, SQLite FULL |" in written(found)
