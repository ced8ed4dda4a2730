"""A real Prometheus looks at real processes in good and bad times, and every dashboard has something to show."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import side_effects
from tests.e2e.installation import ONE_WORKER, Distributed, distributed_on
from tests.e2e.model import failing
from tests.e2e.served import status_once
from tests.e2e.waiting import until
from tests.support.brokers import fresh_rabbitmq
from tests.support.monitoring import DASHBOARDS, Expression, dashboard, expressions, known_samples, promtool
from tests.support.prometheus import Prometheus, prometheus_at
from tests.support.receiver import Reply, WebhookReceiver

from turnwise.client import Client
from turnwise.testing.fake_llm.answer import ScriptedFault
from turnwise.testing.fake_llm.server import FakeLLMServer

pytestmark = [pytest.mark.postgres, pytest.mark.rabbitmq, pytest.mark.timeout(600)]

# What Grafana puts in for its variables; the time covers the whole test.
_VARIABLES = {"$__rate_interval": "30m", "$__range": "30m", "1d": "30m"}
# Panels that have nothing to show in a good time, and why.
_MAY_BE_EMPTY = {
    "Turnwise / Overview / Alerts / A": "no condition holds for as long as an alert waits",
    "Turnwise / Conversations / Oldest runs / A": "all runs have ended",
    "Turnwise / Conversations / Longest waits / A": "no run waits",
    "Turnwise / Queues and autoscaling / Oldest lease / A": "no ask is leased",
    "Turnwise / Workers / Length of these waits / A": "every process found a connection",
    "Turnwise / Workers / Broker / B": "the broker was not away",
    "Turnwise / Overview / Calls in batches of providers / A": "no call waits for a batch",
    "Turnwise / Overview / Batches of providers / A": "no call waits for a batch",
}
# Constants, what a coordinator looks after once a minute, what happens in worse times (see test_measures.py), and
# what only calls that wait for batches have.
_UNMOVED = {
    "turnwise_build_info",
    "turnwise_database_connections_limit",
    "turnwise_runs_purged_total",
    "turnwise_runs_forgotten",
    "turnwise_broker_connected",
    "turnwise_broker_reconnects_total",
    "turnwise_database_pool_timeouts_total",
    "turnwise_provider_batches_total",
    "turnwise_provider_batch_calls_total",
    *(f"turnwise_database_pool_wait_seconds_{part}" for part in ("bucket", "sum", "count")),
}


# Metrics that coordinators read from the record every 10 seconds.
_READ_SELDOM = (
    "turnwise_runs_oldest_age_seconds",
    "turnwise_runs_waiting_oldest_age_seconds",
    "turnwise_webhook_oldest_age_seconds",
    "turnwise_webhook_backlog",
)


@dataclass(frozen=True, kw_only=True)
class Observed:
    """An installation that has been through a lot, and the Prometheus that saw it."""

    prometheus: Prometheus
    installation: Distributed


@pytest.fixture(scope="module")
def observed(model: FakeLLMServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    folder = tmp_path_factory.mktemp("observed")
    with pytest.MonkeyPatch.context() as patch, prometheus_at(folder) as prometheus:
        patch.setenv(side_effects.FOLDER, str(folder))
        serving = distributed_on(
            fresh_rabbitmq,
            folder,
            "tests.e2e.observed:app",
            roles=ONE_WORKER,
            tenant_day_max_tokens="50000000",
            webhook_allow_http="true",
            webhook_allowed_networks='["127.0.0.0/8"]',
        )
        with WebhookReceiver() as receiver, serving as served, Client(served.url) as client:
            story = _Story(served, client, prometheus, receiver, folder)
            story.trouble()
            for _ in range(2):  # a counter has an increase from the second time on
                story.work()
            yield Observed(prometheus=prometheus, installation=served)


class _Story:
    """The events of the installation, each seen by Prometheus before the next one."""

    def __init__(
        self,
        installation: Distributed,
        client: Client,
        prometheus: Prometheus,
        receiver: WebhookReceiver,
        folder: Path,
    ) -> None:
        self._installation, self._client, self._prometheus, self._folder = installation, client, prometheus, folder
        self._receiver = receiver
        self._hung: list[str] = []
        self._ended = 0
        self._look()
        self._seen("count(turnwise_build_info) == bool 3")

    def trouble(self) -> None:
        """A worker falls silent in a model's call and in a tool, a coordinator hangs, a human is asked."""
        client = self._client
        self._receiver.answer = lambda _: Reply(status=503)
        client.create_webhook(self._receiver.url, events=["run.*"])
        asking = str(client.submit("order", "Please begin.").id)
        thinking = str(client.submit("endless", "Please begin.", max_cost=Decimal("0.05")).id)
        hold = self._folder / "hold-bill"
        hold.touch()
        client.submit("clerk", "please pay bill")
        until((self._folder / "log").exists, "the handler to be in the middle")
        self._seen("min(turnwise_budget_reserved_usd) > bool 0")
        self._replace_the_worker(hold)
        self._seen("max(turnwise_human_inbox_open) == bool 2")
        client.pause("task", "silent")
        self._seen("sum(turnwise_paused) > bool 0")
        client.resume("task", "silent")
        for gauge in _READ_SELDOM:
            self._seen(f"max(max_over_time({gauge}[30m])) > bool min(min_over_time({gauge}[30m]))")
        self._receiver.answer = lambda _: Reply()
        client.resolve(self._parked(), "happened", "it was paid")
        client.answer(asking, "blue")
        client.cancel(thinking)
        client.cancel(asking)
        self._seen("sum(turnwise_runs_active) == bool 0")
        self._pause_the_coordinator()
        self._ended = 5
        self._all_over()

    def work(self) -> None:
        """Conversations with tools, a limit, a tick, errors, a model that fails at first and one without a price."""
        failing["patient"] = [ScriptedFault(status=503)]
        tasks = ("tool_loop", "delegation", "clumsy", "silent", "patient", "unpriced")
        runs = [self._client.submit(task, "Please begin.") for task in tasks]
        runs.append(self._client.submit("tool_loop", "Please begin.", max_tokens=1200))
        self._client.create_schedule(f"once-{self._ended}", "tool_loop", "Please begin.", at=_soon())
        for run in runs:
            status_once(self._client, str(run.id), "completed", "failed")
        self._ended += len(runs) + 1  # that of the tick
        self._all_over()

    def _replace_the_worker(self, hold: Path) -> None:
        """It hangs, another one takes over what it held, and it comes back too late."""
        worker = self._installation.processes["worker"]
        worker.signal(signal.SIGSTOP)
        try:
            waiting = self._client.submit("delegation", "Please begin.")  # nobody is there for it
            self._seen("max(turnwise_queue_oldest_age_seconds) > bool 0")
            hold.unlink()
            self._installation.launch("worker").wait_ready()
            self._seen("sum(turnwise_leases_expired_total) >= bool 2")
            # The one that comes back would count a run that it ended, and is stopped before that is seen.
            status_once(self._client, str(waiting.id), "completed")
            worker.signal(signal.SIGCONT)
            self._hung = [worker.url]
            self._look()
            self._seen("sum(turnwise_asks_discarded_total) >= bool 1")
        finally:
            worker.signal(signal.SIGCONT)
            worker.stop()

    def _parked(self) -> str:
        """Return the ask that waits for a person, because its outcome is not known."""
        items = [item for item in self._client.inbox() if item.kind == "parked"]
        return str(items[0].id)

    def _pause_the_coordinator(self) -> None:
        """A run is submitted while it hangs, whose first move the gateway leaves to it."""
        coordinator = self._installation.processes["coordinator"]
        coordinator.signal(signal.SIGSTOP)
        try:
            self._client.submit("sated", "Please begin.")
            self._seen("max(turnwise_moves_due) == bool 1")
        finally:
            coordinator.signal(signal.SIGCONT)

    def _look(self) -> None:
        served = self._installation
        urls = {role: [process.url] for role, process in served.processes.items()}
        urls["worker"] += self._hung
        self._prometheus.scrape(
            {f"turnwise-{role}": [url.removeprefix("http://") for url in found] for role, found in urls.items()}
        )

    def _seen(self, condition: str) -> None:
        # There is nothing new more often than it scrapes.
        until(lambda: self._prometheus.value(condition), f"Prometheus to see that {condition}", every=0.3)

    def _all_over(self) -> None:
        self._seen(f"sum(turnwise_runs_total) == bool {self._ended}")
        self._seen("sum(turnwise_runs_active) == bool 0")


def test_the_metrics_of_each_process_are_as_prometheus_wants_them(observed: Observed) -> None:
    for process in observed.installation.processes.values():
        checked = promtool("check", "metrics", text=process.page("/metrics"))
        assert (checked.returncode, checked.stdout + checked.stderr) == (0, ""), process.name


def test_every_metric_of_ours_is_there_and_moves(observed: Observed) -> None:
    names = {name for name in known_samples() if name.startswith("turnwise_")} - _UNMOVED

    still = [name for name in sorted(names) if not _moved(observed.prometheus, name)]

    assert still == []


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_every_panel_of_a_dashboard_shows_something(observed: Observed, path: Path) -> None:
    found = {one.where: observed.prometheus.values(_filled_in(one)) for one in expressions(path)}

    assert [where for where, values in found.items() if not values and where not in _MAY_BE_EMPTY] == []


def test_every_variable_of_a_dashboard_has_something_to_choose_from(observed: Observed) -> None:
    asked = {one["query"]["query"] for path in DASHBOARDS for one in dashboard(path)["templating"]["list"][1:]}

    for query in asked:
        found = re.fullmatch(r"label_values\((.+), (\w+)\)", query)
        assert found, query
        # Outside of Kubernetes nothing has a namespace, and the choice is empty.
        chosen = observed.prometheus.labels(_chosen(found[1]), found[2])
        assert chosen or found[2] == "namespace", query


def test_the_rules_are_evaluated_without_errors_and_nothing_is_left_to_alert_of(observed: Observed) -> None:
    # A worker is gone that nobody took off the targets, and a model has no price; it is too early to say so.
    expected = {"TurnwiseTargetDown", "TurnwiseCallsUnpriced"}
    # The last samples may be newer than the last evaluation.
    until(lambda: expected <= _pending(observed.prometheus.rules()), f"Prometheus to evaluate {expected} as pending")
    rules = observed.prometheus.rules()

    assert {rule["health"] for rule in rules} == {"ok"}, [rule for rule in rules if rule["health"] != "ok"]
    texts = [text for rule in rules for alert in rule.get("alerts", ()) for text in alert["annotations"].values()]
    assert not [text for text in texts if "error" in text and "expanding" in text]
    assert not [rule["name"] for rule in rules if rule.get("state") == "firing"]


def _soon() -> datetime:
    """A moment that has not passed when a schedule of it is made."""
    return datetime.now(UTC) + timedelta(seconds=3)


def _pending(rules: Iterable[dict[str, Any]]) -> set[str]:
    """The names of the alerts whose conditions hold, but not yet for long enough."""
    return {rule["name"] for rule in rules if rule.get("state") == "pending"}


def _moved(prometheus: Prometheus, name: str) -> bool:
    if re.search(r"_(total|count|sum|bucket)$", name):
        return prometheus.value(f"max(max_over_time({name}[30m]))") > 0  # also of processes that have ended
    return prometheus.value(f"max(max_over_time({name}[30m])) > bool min(min_over_time({name}[30m]))") > 0


def _filled_in(expression: Expression) -> str:
    text = _chosen(expression.text)
    for variable, value in _VARIABLES.items():
        text = text.replace(f"[{variable}]", f"[{value}]")
    return text


def _chosen(text: str) -> str:
    return re.sub(r'"\$\w+"', '".*"', text)
