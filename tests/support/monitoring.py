"""The dashboards and rules of `deploy/`, as tests read them, and the programs that check them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR, CollectorRegistry
from tests.support.services import require

from turnwise.processes.metrics import Metrics, RecordCollector, TaskCollector

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
RULES = sorted((DEPLOY / "prometheus" / "rules").glob("*.yml"))
RULE_TESTS = sorted((DEPLOY / "prometheus" / "tests").glob("*.yml"))

# A name of a metric: with our prefix, or one of those that every Python process has.
_METRIC = re.compile(r"(?<![\w:])(?:turnwise|process|python)_\w+")


@dataclass(frozen=True, kw_only=True)
class Expression:
    """A query of a dashboard's panel; `where` names dashboard, panel and query."""

    where: str
    text: str


def program(name: str) -> str:
    """The path of a program of Debian's package `prometheus`; skips the test without it."""
    found = shutil.which(name)
    require(found, f"{name} is not installed; apt-get install prometheus")
    assert found is not None
    return found


def promtool(*arguments: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run promtool with these arguments, given `text` as its input."""
    return subprocess.run(
        [program("promtool"), *map(str, arguments)],
        input=text,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def dashboard(path: Path) -> Any:
    """The dashboard in a file."""
    return json.loads(path.read_text())


def expressions(path: Path) -> Iterator[Expression]:
    """Every query of a dashboard."""
    board = dashboard(path)
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield Expression(where=f"{board['title']} / {panel['title']} / {target['refId']}", text=target["expr"])


def rules() -> Iterator[Mapping[str, Any]]:
    """Every recording rule and alert."""
    for path in RULES:
        for group in yaml.safe_load(path.read_text())["groups"]:
            yield from group["rules"]


def alerts() -> dict[str, Mapping[str, Any]]:
    """Alerts by name."""
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


def metrics_in(text: str) -> set[str]:
    """The metrics that an expression reads, without those that rules record."""
    return set(_METRIC.findall(re.sub(r'"[^"]*"', '""', text)))


def known_samples() -> set[str]:
    """Names of all samples that processes of Turnwise can give."""
    registry = CollectorRegistry()
    own = [value for value in vars(Metrics(registry)).values() if hasattr(value, "describe")]
    unread: Any = None  # describing needs no record
    families = [
        family
        for collector in (*own, RecordCollector(unread), TaskCollector(unread))
        for family in collector.describe()
    ]
    families += [f for one in (PROCESS_COLLECTOR, PLATFORM_COLLECTOR, GC_COLLECTOR) for f in one.collect()]
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "info": ("_info",)}
    names = {family.name + suffix for family in families for suffix in suffixes.get(family.type, ("",))}
    return names | {"turnwise_build_info"}
