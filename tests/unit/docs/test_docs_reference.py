"""The reference pages name what exists, and nothing else: endpoints, metrics, statuses."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from turnwise import App, StatusCode
from turnwise.bus.in_process import InProcessBus
from turnwise.processes.metrics import Metrics, RecordCollector, TaskCollector
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise_gateway.api import create_api

DOCS = Path(__file__).parents[3] / "docs"
Endpoint = tuple[str, str]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    database = Database(f"sqlite:///{tmp_path / 'runs.db'}")
    yield Store(database, lease_seconds=5.0)
    database.close()


@pytest.fixture
def endpoints(store: Store) -> set[Endpoint]:
    """Every endpoint of the API, as its own description lists them."""
    paths = create_api(store, InProcessBus(), App("any"), load_settings()).openapi()["paths"]
    return {(method.upper(), path) for path, operations in paths.items() for method in operations}


def curl_target(command: str) -> Endpoint:
    """Return the endpoint of a curl command of the page."""
    words = shlex.split(command.replace("\\\n", " "))
    url = next(word for word in words if word.startswith("http"))
    path = re.sub(r"^http://[^/]+|\?.*$", "", url)
    names = {
        "$RUN": "{run_id}",
        "$SESSION": "{session_id}",
        "$ITEM": "{item_id}",
        "$BATCH": "{batch_id}",
        "$KEY": "{key_id}",
        "$WEBHOOK": "{webhook_id}",
        "$DELIVERY": "{delivery_id}",
        "$TENANT": "{tenant_id}",
        "queue/llm": "{kind}/{name}",
        "tasks/trip": "tasks/{name}",
        "schedules/nightly": "schedules/{schedule}",
        "models/trip": "models/{model}",
        "tenants/acme": "tenants/{tenant_id}",
    }
    for shown, name in names.items():
        path = path.replace(shown, name)
    method = words[words.index("-X") + 1] if "-X" in words else "POST" if "-d" in words else "GET"
    return method, path


def labels(metric: object) -> str:
    """Names of the labels; prometheus_client has no public way to ask for them."""
    return ", ".join(getattr(metric, "_labelnames", ()))


def test_the_page_of_http_lists_every_endpoint(endpoints: set[Endpoint]) -> None:
    text = (DOCS / "http.md").read_text()

    assert set(re.findall(r"\*\*`(GET|POST|PUT|PATCH|DELETE) ([^`]+)`\*\*", text)) == endpoints


def test_each_example_of_http_is_of_an_endpoint_that_exists(endpoints: set[Endpoint]) -> None:
    text = (DOCS / "http.md").read_text()
    shown = {curl_target(block) for block in re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)}

    assert shown <= endpoints
    assert {path for _, path in endpoints - shown} == {"/health/live", "/metrics"}


def test_the_page_of_http_names_every_status_code() -> None:
    text = (DOCS / "http.md").read_text()

    assert {code.value for code in StatusCode} <= set(re.findall(r"`([A-Z_]+)`", text))


def test_the_page_of_metrics_lists_every_metric_with_its_labels(store: Store) -> None:
    own = [value for value in vars(Metrics(CollectorRegistry())).values() if hasattr(value, "describe")]
    counted = {_exported(family): labels(metric) for metric in own for family in metric.describe()}
    read = (RecordCollector(store.monitor), TaskCollector(store.monitor))
    known = {family.name: labels(family) for one in read for family in one.describe()}

    rows = re.findall(r"^\| `(turnwise_\w+)` \| ([^|]*?) ?\|", (DOCS / "metrics.md").read_text(), re.MULTILINE)

    assert dict(rows) == {
        **counted,
        **known,
        "turnwise_build_info": "version, python, application, application_version",
    }


def _exported(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name
