"""Worker processes whose number follows the backlog, as KEDA and a HorizontalPodAutoscaler would have it."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from urllib.error import URLError

from prometheus_client.parser import text_string_to_metric_families
from tests.e2e.processes import Process
from tests.scaling.rules import Rules, Seen, decide

from bench.installation import Installation


@dataclass(frozen=True, kw_only=True)
class Look:
    """The scaler's view and decision; `ready` workers hold a lease, `ending` ones were told to stop."""

    at: float
    backlog: float
    wanted: int
    ready: int
    ending: int


class ScaledPool:
    """Looks at `turnwise_backlog` of the coordinator's /metrics every `rules.polling` seconds, from `with` to its end.

    A worker that is one too many gets SIGTERM, the youngest first, and nothing else.
    """

    def __init__(self, installed: Installation, rules: Rules, *command: str) -> None:
        self.rules = rules
        self._installed, self._command = installed, command
        self._queues = command[command.index("-Q") + 1].split(",")
        self._workers: list[Process] = []
        self.ended: list[Process] = []
        self.looks: list[Look] = []
        self._seen = Seen()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="scaler")
        self.error: Exception | None = None

    def __enter__(self) -> ScaledPool:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def last(self) -> Look | None:
        """The newest look; raises what ended the scaler."""
        if self.error is not None:
            raise self.error
        return self.looks[-1] if self.looks else None

    def backlog(self) -> float:
        """The metric, as an autoscaler's adapter scrapes it."""
        families = text_string_to_metric_families(self._installed.coordinator.page("/metrics"))
        found = [s for family in families for s in family.samples if s.name == "turnwise_backlog"]
        return sum(sample.value for sample in found if sample.labels["queue"] in self._queues)

    def _work(self) -> None:
        try:
            while not self._stopping.is_set():
                self._look()
                self._stopping.wait(self.rules.polling)
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            self.error = error

    def _look(self) -> None:
        backlog, now = self.backlog(), time.time()
        wanted, self._seen = decide(backlog, len(self._workers), self._seen, self.rules, now)
        while len(self._workers) < wanted:
            self._workers.append(self._installed.start(*self._command))
        while len(self._workers) > wanted:
            worker = self._workers.pop()
            worker.terminate()
            self.ended.append(worker)
        ready, ending = sum(map(_ready, self._workers)), sum(worker.running for worker in self.ended)
        self.looks.append(Look(at=now, backlog=backlog, wanted=wanted, ready=ready, ending=ending))


def _ready(worker: Process) -> bool:
    with suppress(URLError, OSError):
        return worker.page("/health/ready") != ""
    return False
