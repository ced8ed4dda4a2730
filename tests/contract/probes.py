"""A Celery worker of `contract.celery_probe` in a process of its own, and what it was given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.contract.brokers import until
from tests.support.tcp_proxy import TcpProxy, address_in

TESTS = Path(__file__).parent.parent
_CELERY = [sys.executable, "-m", "celery", "-A", "contract.celery_probe"]
_QUEUES = ["-Q", "coordinator,llm,llm-big"]


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A running worker of the queues coordinator, llm and llm-big, and the file that its tasks write.

    `url` is the broker's own, `proxy` is between broker and worker.
    """

    url: str
    proxy: TcpProxy
    process: subprocess.Popen[bytes]
    file: Path
    log: Path
    environment: dict[str, str]

    def received(self) -> list[dict[str, Any]]:
        """Return the arguments of its tasks so far, each with the id of the process that ran the task."""
        if not self.file.exists():
            return []
        return [json.loads(line) for line in self.file.read_text(encoding="utf-8").splitlines()]

    def said(self) -> str:
        """Its log up to now."""
        return self.log.read_text(encoding="utf-8")

    def celery(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another Celery command of the same application."""
        return subprocess.run(
            [*_CELERY, *arguments],
            env=self.environment,
            cwd=TESTS,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@contextmanager
def started_probe(url: str, folder: Path, pool: str = "threads") -> Iterator[Probe]:
    """A probe that has been started, and may not be ready yet; it is told to end on leaving."""
    with TcpProxy(address_in(url)) as proxy:
        file, log = folder / "received.jsonl", folder / "worker.log"
        environment = {
            **os.environ,
            "PROBE_BROKER": proxy.url(url),
            "PROBE_FILE": str(file),
            "PYTHONUNBUFFERED": "1",
        }
        with log.open("w") as output:
            process = subprocess.Popen(
                [*_CELERY, "worker", "-P", pool, "-c", "4", *_QUEUES, "-n", "probe@turnwise", "-l", "INFO"],
                env=environment,
                cwd=TESTS,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            yield Probe(url=url, proxy=proxy, process=process, file=file, log=log, environment=environment)
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def ready_probe(url: str, folder: Path, pool: str = "threads") -> Iterator[Probe]:
    """A probe that consumes."""
    with started_probe(url, folder, pool) as probe:
        assert until(lambda: " ready." in probe.said(), 30), probe.said()
        yield probe
