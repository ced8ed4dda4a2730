"""What the chart lets autoscalers read is what `turnwise_backlog` says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
import yaml
from tests.chart.engine import Release
from tests.support.monitoring import promtool
from tests.support.services import migrated_postgres
from tests.support.store_parts import asked_run, new_worker

from turnwise.base.ids import new_id
from turnwise.bus.routing import lane
from turnwise.processes.metrics import RecordCollector
from turnwise.record.asks.pauses import PauseKind
from turnwise.record.database.database import Database
from turnwise.record.store import Store

pytestmark = pytest.mark.helm

Query = Callable[[str], int]

PAGE = Path(__file__).parents[2] / "docs" / "kubernetes.md"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A PostgreSQL database with Turnwise's tables."""
    with migrated_postgres() as made:
        yield made


@pytest.fixture(scope="module")
def store(url: str) -> Iterator[Store]:
    """Asks of four queues in every state that they can be in."""
    database = Database(url)
    store = Store(database, lease_seconds=60.0)
    for queue, runnable in (("llm", 9), ("llm-writer", 2), ("agent", 50), ("agent-mailer", 1)):
        for _ in range(runnable):
            asked_run(store, queue)
    for queue, leased in (("llm", 3), ("agent", 1)):
        worker = new_worker(store, queue)
        for _ in range(leased):
            assert store.worker.claim(queue, worker) is not None
    with psycopg.connect(url) as connection:
        _put_aside(connection)
    yield store
    database.close()


def _put_aside(connection: psycopg.Connection[Any]) -> None:
    """Of the six asks that `llm` has left: two are due later, one was, one's provider is closed, that of two open."""
    for name, opens in (("closed", "1e12"), ("open", "0")):
        connection.execute(
            'INSERT INTO provider_buckets (id, server, model, account, caps, "window", open_at) '
            f"VALUES ('{name}', 's', '{name}', 'a', '{{}}', '{{}}', {opens})"
        )
    ids = [row[0] for row in connection.execute("SELECT run_id FROM asks WHERE queue = 'llm' AND status = 'runnable'")]
    assert len(ids) == 6
    changes = (*["due_at = 1e12"] * 2, "due_at = 1", "bucket = 'closed'", *["bucket = 'open'"] * 2)
    for run_id, change in zip(ids, changes, strict=True):
        connection.execute(f"UPDATE asks SET {change} WHERE run_id = '{run_id}'")


@pytest.fixture
def backlog(store: Store) -> dict[str, float]:
    """Our own figure, by queue."""
    found = next(family for family in RecordCollector(store.monitor).collect() if family.name == "turnwise_backlog")
    return {sample.labels["queue"]: sample.value for sample in found.samples}


@pytest.fixture
def ask(url: str) -> Iterator[Query]:
    """Runs a query as KEDA does: one statement, one number."""
    with psycopg.connect(url) as connection:

        def run(query: str) -> int:
            rows = connection.execute(query).fetchall()
            return int(rows[0][0])

        yield run


@pytest.fixture
def counting(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A session of the login that the page on Kubernetes makes for KEDA, under a name of its own."""
    role = new_id("tw_keda")
    (statements,) = re.findall(r"```sql\n(CREATE ROLE turnwise_keda .*?)```", PAGE.read_text(), re.DOTALL)
    with psycopg.connect(url, autocommit=True) as owner:
        try:
            owner.execute(statements.replace("turnwise_keda", role))
            with psycopg.connect(url, user=role, password="...", autocommit=True) as connection:
                yield connection
        finally:
            owner.execute(f"DROP OWNED BY {role}")
            owner.execute(f"DROP ROLE {role}")


def trigger(release: Release, pool: str) -> dict[str, str]:
    """Return the trigger by which a pool is scaled."""
    (found,) = release.all_of("ScaledObject")[f"worker-{pool}"]["spec"]["triggers"]
    metadata: dict[str, str] = found["metadata"]
    return metadata


def test_keda_counts_in_postgresql_what_the_metric_says(
    rendered: Callable[[str], Release], ask: Query, backlog: dict[str, float]
) -> None:
    release = rendered("keda-postgresql")

    assert backlog["llm"] == 6  # three are leased; of six, two are not due and one's provider has no room
    assert ask(trigger(release, "llm")["query"]) == backlog["llm"] + backlog["llm-writer"]


def test_the_login_of_the_page_may_count_and_read_nothing_that_was_said(
    rendered: Callable[[str], Release], ask: Query, store: Store, counting: psycopg.Connection[Any]
) -> None:
    query = trigger(rendered("keda-postgresql"), "llm")["query"]

    assert counting.execute(query).fetchall() == [(ask(query),)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        counting.execute("SELECT message FROM runs")


@pytest.mark.parametrize("kind", ["queue", "task", "tenant"])
def test_keda_counts_nothing_that_is_paused(
    rendered: Callable[[str], Release], ask: Query, store: Store, kind: PauseKind
) -> None:
    query = trigger(rendered("keda-postgresql"), "llm")["query"]
    before = ask(query)
    name = {"queue": "llm-writer", "task": "paused", "tenant": "paused"}[kind]
    for _ in range(2):
        asked_run(store, "llm", run={"task": "paused", "tenant": "paused"})
    more = ask(query)

    store.operator().pause(kind, name)
    paused = ask(query)
    stats = {stat.queue: stat.runnable + stat.leased for stat in store.inspector.queue_stats()}
    store.operator().resume(kind, name)
    store.coordinator.let_go()

    assert more == before + 2
    assert paused == more - 2 == stats.get("llm-writer", 0) + stats["llm"]
    with store.database.begin() as connection:
        connection.execute(sa.text("DELETE FROM asks WHERE tenant = 'paused'"))


def test_keda_counts_no_further_than_the_maximum_needs(
    rendered: Callable[[str], Release], ask: Query, backlog: dict[str, float]
) -> None:
    pool = trigger(rendered("keda-postgresql"), "agent")

    assert backlog["agent"] == 50
    assert ask(pool["query"]) == 40  # ten replicas of four
    assert pool["targetQueryValue"] == "4"


def test_what_is_scaled_has_no_fixed_number_of_replicas_and_what_is_not_has_one(release: Release) -> None:
    deployments = release.all_of("Deployment")
    scaled = set(release.all_of("ScaledObject")) | set(release.all_of("HorizontalPodAutoscaler"))

    assert scaled <= set(deployments)
    for name, deployment in deployments.items():
        assert ("replicas" in deployment["spec"]) is (name not in scaled), name


def test_a_scaler_names_the_deployment_and_the_login_that_there_are(release: Release) -> None:
    logins = {one["metadata"]["name"] for one in release.all_of("TriggerAuthentication").values()}

    for name, scaled in release.all_of("ScaledObject").items():
        assert scaled["spec"]["scaleTargetRef"] == {"name": f"turnwise-{name}"}
        for one in scaled["spec"]["triggers"]:
            assert one.get("authenticationRef", {}).get("name") in {*logins, "prometheus-login"}
    for name, scaled in release.all_of("HorizontalPodAutoscaler").items():
        assert scaled["spec"]["scaleTargetRef"]["name"] == f"turnwise-{name}"


def test_keda_reads_with_the_login_of_the_services_or_one_of_its_own(rendered: Callable[[str], Release]) -> None:
    def secret(name: str) -> tuple[str, str]:
        (login,) = rendered(name).all_of("TriggerAuthentication").values()
        (target,) = login["spec"]["secretTargetRef"]
        return target["name"], target["parameter"]

    assert secret("keda-postgresql") == ("turnwise-keda", "connection")
    assert secret("everything") == ("turnwise-evaluation", "connection")
    assert secret("keda-rabbitmq") == ("turnwise", "host")


def test_a_pool_can_go_down_to_nobody_and_one_can_stay_as_it_is(rendered: Callable[[str], Release]) -> None:
    scaled = rendered("keda-postgresql").all_of("ScaledObject")

    assert scaled["worker-agent"]["spec"]["minReplicaCount"] == 0
    assert scaled["worker-llm"]["spec"]["maxReplicaCount"] == 50
    assert "worker-fixed" not in scaled


def test_keda_adds_up_what_prometheus_has_of_each_queue_once(
    rendered: Callable[[str], Release], tmp_path: Path
) -> None:
    llm = trigger(rendered("keda-prometheus"), "llm")

    series = {
        'turnwise_backlog{queue="llm", cluster="eu", namespace="turnwise", pod="a"}': "7",
        'turnwise_backlog{queue="llm", cluster="eu", namespace="turnwise", pod="b"}': "7",
        'turnwise_backlog{queue="agent", cluster="eu", namespace="turnwise", pod="a"}': "100",
        'turnwise_backlog{queue="llm", cluster="us", namespace="turnwise", pod="c"}': "1000",
    }
    assert evaluated(llm["query"], series, tmp_path) == 7


def evaluated(expression: str, series: dict[str, str], folder: Path) -> float:
    """The value of a Prometheus expression; promtool tells it by failing where another one is expected."""
    wrong = {"expr": expression, "eval_time": "1m", "exp_samples": [{"labels": "{}", "value": -1}]}
    given = [{"series": name, "values": f"{value}x5"} for name, value in series.items()]
    test = {"tests": [{"interval": "1m", "input_series": given, "promql_expr_test": [wrong]}]}
    (folder / "test.yml").write_text(yaml.safe_dump(test))
    done = promtool("test", "rules", folder / "test.yml")
    told = done.stdout + done.stderr
    got = told.partition("got:")[2].split("}", 1)[1].split()[0]
    return float(got)


def test_a_pods_autoscaler_reads_the_backlog_of_all_its_queues_or_the_cpu(rendered: Callable[[str], Release]) -> None:
    scaled = rendered("hpa").all_of("HorizontalPodAutoscaler")

    (llm,), (agent,) = (scaled[f"worker-{pool}"]["spec"]["metrics"] for pool in ("llm", "agent"))

    assert llm["external"]["target"] == {"type": "AverageValue", "averageValue": "16"}
    assert llm["external"]["metric"] == {
        "name": "turnwise_backlog",
        "selector": {
            "matchLabels": {"namespace": "turnwise"},
            "matchExpressions": [{"key": "queue", "operator": "In", "values": ["llm", "llm-writer"]}],
        },
    }
    assert agent["resource"]["name"] == "cpu"


def test_rabbitmqs_queues_are_added_up_with_those_of_all_versions(rendered: Callable[[str], Release]) -> None:
    llm = trigger(rendered("keda-rabbitmq"), "llm")

    assert (llm["useRegex"], llm["operation"]) == ("true", "sum")
    for queue, counted in (("llm", True), ("llm-writer", True), ("llm-reader", False), ("agent", False)):
        for version in (None, "1", "2.0 beta"):
            assert bool(re.search(llm["queueName"], lane(queue, version))) is counted, (queue, version)
