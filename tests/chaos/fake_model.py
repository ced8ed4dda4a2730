"""`turnwise fake-llm` with the script of the chaos run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

from tests.chaos import ledgers, model
from tests.e2e.processes import environment, free_port
from tests.e2e.waiting import until


class FakeModel:
    """A process that answers at `base_url` from `with` to its end; `pace` 1 takes its time, 0 answers at once.

    With `requests`, the calls that it lets through in a minute, it has a provider's limits, and fails calls.

    What it bills is appended to `bill`.
    """

    def __init__(self, folder: Path, *, pace: float, requests: int | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.bill = folder / "bill.jsonl"
        self._log = folder / "model.log"
        self._address = f"127.0.0.1:{free_port()}"
        self._env = {**environment(), ledgers.BILL: str(self.bill), model.PACE: str(pace)}
        if requests is not None:
            self._env[model.UNRULY] = str(requests)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        """Return the value for OPENAI_BASE_URL."""
        return f"http://{self._address}/v1"

    @property
    def pid(self) -> int:
        """The operating system's number of it."""
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> FakeModel:
        command = [sys.executable, "-m", "turnwise.cli.main", "fake-llm", str(Path(model.__file__)), "--bind"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, self._address], env=self._env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        until(self._answers, "the model to answer")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise RuntimeError(f"the model ended: {self._log.read_text(errors='replace')}")
        try:
            with urlopen(f"{self.base_url}/models", timeout=5):
                return True
        except OSError:
            return False
