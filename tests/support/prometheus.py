"""A Prometheus of a test's own, with the rules of `deploy/`."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml
from tests.e2e.processes import free_port
from tests.e2e.waiting import until
from tests.support.monitoring import RULES, program

# Seconds between two scrapes: short, so that a test need not wait for the next one.
_EVERY = "1s"


class Prometheus:
    """A running server; `scrape` says what it looks at."""

    def __init__(self, url: str, targets: Path) -> None:
        self._url = url
        self._targets = targets

    def scrape(self, targets: Mapping[str, list[str]]) -> None:
        """Look at these addresses from now on, by the job that they belong to."""
        kept = [{"targets": addresses, "labels": {"job": job}} for job, addresses in targets.items()]
        fresh = self._targets.with_suffix(".new")
        fresh.write_text(json.dumps(kept))
        fresh.replace(self._targets)

    def values(self, expression: str) -> list[float]:
        """The values that it has now; raises `ValueError` with what Prometheus says of a wrong expression."""
        found = [float(one["value"][1]) for one in self._get("query", query=expression)["result"]]
        return [value for value in found if not math.isnan(value)]

    def value(self, expression: str) -> float:
        """The sum of its values, 0 without any."""
        return sum(self.values(expression))

    def labels(self, selector: str, label: str) -> list[str]:
        """Return the possible values of a variable of Grafana."""
        return list(self._get(f"label/{label}/values", **{"match[]": selector}))

    def rules(self) -> list[Any]:
        """The rules, with what came of their last evaluation."""
        return [rule for group in self._get("rules")["groups"] for rule in group["rules"]]

    def ready(self) -> bool:
        """Return whether it answers."""
        try:
            with urlopen(f"{self._url}/-/ready", timeout=5) as response:
                return bool(response.status == 200)
        except (URLError, OSError):
            return False

    def _get(self, path: str, **query: str) -> Any:
        try:
            with urlopen(f"{self._url}/api/v1/{path}?{urlencode(query)}", timeout=30) as response:
                return json.load(response)["data"]
        except URLError as error:
            said = error.read().decode() if hasattr(error, "read") else str(error)
            raise ValueError(f"{query}: {said}") from error


@contextmanager
def prometheus_at(folder: Path) -> Iterator[Prometheus]:
    """A server that keeps its data in `folder`; skips the test where Prometheus is not installed."""
    server, port, targets = program("prometheus"), free_port(), folder / "targets.json"
    targets.write_text("[]")
    config = {
        "global": {"scrape_interval": _EVERY, "scrape_timeout": _EVERY, "evaluation_interval": _EVERY},
        "rule_files": [str(path) for path in RULES],
        "scrape_configs": [{"job_name": "turnwise", "file_sd_configs": [{"files": [str(targets)]}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    given = {
        "config.file": folder / "prometheus.yml",
        "storage.tsdb.path": folder / "data",
        "web.listen-address": f"127.0.0.1:{port}",
    }
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [server, *(f"--{name}={value}" for name, value in given.items())], stdout=log, stderr=log, cwd=folder
        )
    made = Prometheus(f"http://127.0.0.1:{port}", targets)
    try:
        until(made.ready, "Prometheus to be ready")
        yield made
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
