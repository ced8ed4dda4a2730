"""Network policies, judged as Kubernetes judges them: who reaches which port of which pod."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.chart.engine import NAMESPACE, Engine, Release, render
from tests.chart.test_manifests import matches

pytestmark = pytest.mark.helm

Labels = Mapping[str, str]
PROMETHEUS = {"app.kubernetes.io/name": "prometheus"}
STRANGER = {"app": "stranger"}


def reaches(release: Release, source: tuple[str, Labels], name: str, port: int) -> bool:
    """Return whether a pod with these labels, in that namespace, reaches a port of the pod; always without a policy."""
    pod = release.pods()[name]
    ports = {one["name"]: one["containerPort"] for one in pod["spec"]["containers"][0].get("ports", [])}
    policies = [
        one["spec"]
        for one in release.all_of("NetworkPolicy").values()
        if "Ingress" in one["spec"]["policyTypes"] and matches(one["spec"]["podSelector"], pod["metadata"]["labels"])
    ]
    rules = [rule for policy in policies for rule in policy.get("ingress", [])]
    return not policies or any(allows(rule, source, port, ports) for rule in rules)


def allows(rule: dict[str, Any], source: tuple[str, Labels], port: int, ports: dict[str, int]) -> bool:
    """One rule: the port is among its ports, and the source among its peers; either may be left out."""
    numbers = [ports.get(one["port"], one["port"]) for one in rule.get("ports", [])]
    if numbers and port not in numbers:
        return False
    return "from" not in rule or any(is_peer(peer, *source) for peer in rule["from"])


def is_peer(peer: dict[str, Any], namespace: str, labels: Labels) -> bool:
    """Without a namespaceSelector a peer is a pod of the policy's own namespace."""
    if "namespaceSelector" in peer:
        inside = matches(peer["namespaceSelector"], {"kubernetes.io/metadata.name": namespace})
    else:
        inside = namespace == NAMESPACE
    return inside and matches(peer.get("podSelector", {}), dict(labels))


def metrics_port(name: str) -> int:
    return 8080 if name == "turnwise-gateway" else 9090


PROCESSES = ("turnwise-gateway", "turnwise-coordinator", "turnwise-worker-llm", "turnwise-worker-agent")


@pytest.mark.parametrize("values", ["ingress", "overrides"])
@pytest.mark.parametrize("name", PROCESSES)
def test_prometheus_reads_the_metrics_of_every_process_and_strangers_reach_none(
    rendered: Callable[[str], Release], values: str, name: str
) -> None:
    release = rendered(values)

    assert reaches(release, ("monitoring", PROMETHEUS), name, metrics_port(name))
    assert not reaches(release, ("monitoring", STRANGER), name, metrics_port(name))
    assert not reaches(release, (NAMESPACE, STRANGER), name, metrics_port(name))


@pytest.mark.parametrize("values", ["ingress", "overrides", "everything"])
def test_the_releases_own_test_reaches_the_gateway(rendered: Callable[[str], Release], values: str) -> None:
    release = rendered(values)
    test = release.pods()["turnwise-test"]["metadata"]["labels"]

    assert reaches(release, (NAMESPACE, test), "turnwise-gateway", 8080)


def test_who_is_named_reaches_the_gateway_and_nothing_else(rendered: Callable[[str], Release]) -> None:
    release = rendered("ingress")

    assert reaches(release, ("ingress-nginx", {}), "turnwise-gateway", 8080)
    assert not reaches(release, ("ingress-nginx", {}), "turnwise-coordinator", 9090)


def test_metrics_are_for_whom_the_values_name(engine: Engine) -> None:
    agent = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "agents"}}}]
    policy = {"enabled": True, "gatewayFrom": [{"podSelector": {}}]}

    named = render(engine, {"networkPolicy": {**policy, "metricsFrom": agent}})
    nobody = render(engine, {"networkPolicy": {**policy, "metricsFrom": []}})

    for name in PROCESSES:
        assert reaches(named, ("agents", {}), name, metrics_port(name))
        assert not reaches(named, ("monitoring", PROMETHEUS), name, metrics_port(name))
        assert not reaches(nobody, ("agents", {}), name, metrics_port(name))


def test_the_evaluations_servers_are_reached_by_the_release_and_by_nobody_else(
    rendered: Callable[[str], Release],
) -> None:
    release = rendered("everything")
    worker = release.pods()["turnwise-worker-llm"]["metadata"]["labels"]

    for name, port in (("postgresql", 5432), ("rabbitmq", 5672), ("model", 8090)):
        assert reaches(release, (NAMESPACE, worker), f"turnwise-{name}", port)
        assert reaches(release, ("office-2", STRANGER), f"turnwise-{name}", port) is (name == "postgresql")
    # KEDA reads the backlog, from a namespace of its own.
    assert reaches(release, ("keda", STRANGER), "turnwise-postgresql", 5432)


def test_metrics_of_our_monitors_are_where_the_policy_lets_prometheus_in(rendered: Callable[[str], Release]) -> None:
    release = rendered("overrides")
    (endpoint,) = release.all_of("PodMonitor")[""]["spec"]["podMetricsEndpoints"]

    assert endpoint["scrapeTimeout"] == "10s"
    assert endpoint["relabelings"] == [{"targetLabel": "cluster", "replacement": "eu"}]
    for name in PROCESSES[1:]:
        (port,) = release.pods()[name]["spec"]["containers"][0]["ports"]
        assert (port["name"], port["containerPort"]) == (endpoint["port"], metrics_port(name))
