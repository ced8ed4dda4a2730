"""The gateway as a process that is told to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from turnwise.client import Client

_PROGRAM = """
import sys
from tests.support.gateway_parts import make_app
from turnwise.bus.in_process import InProcessBus
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.processes.settings import load_settings
from turnwise_gateway.api import create_api
from turnwise_gateway.server import serve

database = Database(f"sqlite:///{sys.argv[1]}/record.db")
database.migrate()
api = create_api(Store(database), InProcessBus(), make_app(), load_settings())
serve(api, "127.0.0.1", 0, lambda url: print(url, flush=True))
print("cleaned up", flush=True)
"""


_ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_gateway_that_is_told_to_stop_ends_its_event_streams_and_exits_cleanly(
    tmp_path: Path, told: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    ) as process:
        assert process.stdout is not None
        with Client(process.stdout.readline().strip()) as client:
            run_id = client.submit("desk", "hello").id
            events = client.events(run_id)
            assert next(events).type == "run.accepted"

            process.send_signal(told)

            # The stream is still open, and nobody reads it.
            assert process.wait(timeout=8) == 0
            assert process.stdout.read() == "cleaned up\n"
