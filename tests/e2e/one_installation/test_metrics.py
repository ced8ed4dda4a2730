"""The metrics of each service of an installation."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.e2e import served
from tests.e2e.expected import scenario_named
from tests.e2e.installation import EACH_APART, Distributed, Embedded
from tests.e2e.processes import Process, environment, free_port
from tests.e2e.scenarios import Scenario
from tests.e2e.waiting import until

from turnwise.client import Client
from turnwise.processes.settings import load_settings

_MODEL = "turnwise-fake"
_ENDLESS = Scenario(task="endless", status="cancelled", status_code="KILL")


def sample(process: Process, name: str, **labels: str) -> float:
    """The sum of a metric's samples that have these labels, 0 without any."""
    found = 0.0
    for family in text_string_to_metric_families(process.page("/metrics")):
        for one in family.samples:
            if one.name == f"turnwise_{name}" and labels.items() <= one.labels.items():
                found += one.value
    return found


def test_each_service_counts_its_own_part_of_a_run(distributed: Distributed, client: Client) -> None:
    gateway, coordinator, llm, agent = (distributed.processes[role] for role in EACH_APART)

    def counts() -> list[float]:
        return [
            sample(llm, "runs_total", task="tool_loop", status="completed"),
            # Each counts the moves that it makes: the gateway the first one, a worker those that follow its answers.
            sample(gateway, "runs_started_total", task="tool_loop"),
            sample(gateway, "queue_move_seconds_count", queue="coordinator"),
            sample(coordinator, "runs_started_total", task="tool_loop"),
            sample(coordinator, "queue_move_seconds_count", queue="coordinator"),
            sample(coordinator, "turns_total", task="Calculator", outcome="taken"),
            sample(llm, "turns_total", task="Calculator", outcome="taken"),
            sample(agent, "turns_total", task="Calculator", outcome="taken"),
            sample(llm, "asks_total", responder="llm", outcome="answer"),
            sample(llm, "llm_calls_total", model=_MODEL, outcome="ok"),
            sample(agent, "asks_total", responder="agent", outcome="answer"),
            sample(agent, "tool_calls_total", tool="add", outcome="ok"),
        ]

    before, tokens, cost = counts(), _tokens(llm), _cost(llm)
    scenario = scenario_named("tool_loop")
    run_id = served.submit(client, scenario)
    served.finish(client, run_id, scenario)
    # What follows a commit is counted after it, so the last counts may come a moment later.
    until(lambda: counts()[0] > before[0], "the run to be counted")
    assert _difference(counts(), before) == [1, 1, 1, 0, 0, 0, 5, 4, 5, 5, 4, 3]
    usage = client.run(run_id).usage
    assert _tokens(llm) - tokens == usage.prompt_tokens + usage.completion_tokens
    assert round(_cost(llm) - cost, 9) == float(usage.cost) > 0


def test_a_coordinator_counts_the_first_move_that_is_left_to_it(distributed: Distributed, client: Client) -> None:
    gateway, coordinator = (distributed.processes[role] for role in ("gateway", "coordinator"))

    def counts() -> list[float]:
        return [sample(process, "runs_started_total", task="sated") for process in (gateway, coordinator)]

    before = counts()
    served.play(client, scenario_named("sated"))
    until(lambda: _difference(counts(), before) == [0, 1], "the run's beginning to be counted")


def test_a_limit_that_was_reached_is_counted(distributed: Distributed, client: Client) -> None:
    llm = distributed.processes["llm"]
    before = sample(llm, "budget_limit_reached_total", limit="tokens")
    served.play(client, scenario_named("few_tokens"))
    until(lambda: sample(llm, "budget_limit_reached_total", limit="tokens") == before + 1, "the limit to be counted")


def test_the_gateway_shows_backlog_fleet_and_inbox(distributed: Distributed, client: Client) -> None:
    gateway = distributed.processes["gateway"]
    thinking = served.submit(client, _ENDLESS)
    asking = served.submit(client, scenario_named("order"))
    served.status_once(client, asking, "waiting")
    until(lambda: sample(gateway, "backlog", queue="llm") >= 1, "a backlog")
    until(lambda: sample(gateway, "queue_depth", queue="llm", state="leased") >= 1, "a leased ask")
    until(lambda: sample(gateway, "human_inbox_open") >= 1, "an open question")
    assert sample(gateway, "runs_active", status="waiting") >= 1
    assert sample(gateway, "workers", queue="llm", state="alive") == 1
    assert {queue.queue for queue in client.queues() if queue.backlog} == {"llm"}
    for run_id in (thinking, asking):
        client.cancel(run_id)
    until(lambda: sample(gateway, "backlog", queue="llm") == 0, "the backlog to be gone")


def test_the_embedded_server_shows_all_of_it_in_one_place(embedded: Embedded) -> None:
    with Client(embedded.url) as client:
        served.play(client, scenario_named("notes"))
    for name in ("turns_total", "tokens_total", "cost_usd_total", "llm_calls_total", "tool_calls_total"):
        _wait_for(embedded.process, name)
    page = embedded.process.page("/metrics")
    assert "turnwise_backlog" in page and "turnwise_runs_active" in page


@pytest.mark.postgres
@pytest.mark.rabbitmq
def test_a_prefork_worker_shows_the_sums_of_its_children(over_rabbitmq: Distributed, tmp_path: Path) -> None:
    installation, port = over_rabbitmq, free_port()
    settings = environment(**installation.settings, metrics_bind=f"127.0.0.1:{port}")
    env = settings | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "counts")}
    arguments = ["worker", "-Q", "llm,agent", "--pool", "prefork", "--concurrency", "2"]
    installation.processes["agent"].stop()
    process = Process(arguments, env, f"http://127.0.0.1:{port}", tmp_path / "prefork.log")
    try:
        process.wait_ready()
        with Client(installation.url) as client:
            served.play(client, scenario_named("tool_loop"))

        until(lambda: sample(process, "queue_work_seconds_count", queue="agent") >= 4, "its children to have counted")
        assert sample(process, "tool_duration_seconds_count", tool="add") >= 3
        # Two children, each with a pool and connections of its own.
        assert sample(process, "database_connections_limit") == 2 * load_settings().database_connections
        assert sample(process, "broker_connected", connection="publish") == 1
        pages = [line for line in process.page("/metrics").splitlines() if "pid=" in line]
        assert pages == []
    finally:
        process.stop()
        installation.launch("agent").wait_ready()


def _tokens(process: Process) -> float:
    return sum(sample(process, "tokens_total", model=_MODEL, type=kind) for kind in ("prompt", "completion"))


def _cost(process: Process) -> float:
    return sample(process, "cost_usd_total", model=_MODEL)


def _difference(after: list[float], before: list[float]) -> list[float]:
    return [new - old for new, old in zip(after, before, strict=True)]


def _wait_for(process: Process, name: str) -> None:
    until(lambda: sample(process, name), f"{name} to have moved")
