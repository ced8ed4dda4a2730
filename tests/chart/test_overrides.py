"""An operator can replace what we chose, and add to it, without a copy of the chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.chart.engine import ChartRefusedError, Engine, Release, render

from turnwise.processes.settings import ServiceSettings

pytestmark = pytest.mark.helm

LONG_RUNNING = ("turnwise-gateway", "turnwise-coordinator", "turnwise-worker-llm", "turnwise-worker-agent")


@pytest.fixture
def overridden(rendered: Callable[[str], Release]) -> Release:
    """The release of `ci/overrides-values.yaml`."""
    return rendered("overrides")


def ours(release: Release) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Pod's name, pod and our own container of what runs for ever."""
    for name in LONG_RUNNING:
        spec = release.pods()[name]["spec"]
        yield name, spec, spec["containers"][0]


def test_every_object_and_pod_has_the_common_labels_and_annotations(overridden: Release) -> None:
    metadata = {one["kind"] + "/" + one["metadata"]["name"]: one["metadata"] for one in overridden.everything}
    metadata |= {f"pod of {name}": pod["metadata"] for name, pod in overridden.pods().items()}

    for name, found in metadata.items():
        assert found["labels"]["cost-center"] == "4711", name
        assert found["annotations"]["example.com/owner"] == "support", name


def test_a_label_of_one_object_goes_before_the_common_one(engine: Engine) -> None:
    values = {"commonLabels": {"tier": "work"}, "gateway": {"service": {"labels": {"tier": "edge"}}}}
    release = render(engine, values)

    assert release.all_of("Service")[""]["metadata"]["labels"]["tier"] == "edge"
    assert release.all_of("Deployment")["gateway"]["metadata"]["labels"]["tier"] == "work"


def test_an_image_is_named_by_its_digest_where_it_has_one(overridden: Release) -> None:
    images = {name: container["image"] for name, _, container in ours(overridden)}

    assert images["turnwise-worker-llm"] == "turnwise-responders@sha256:" + "0123456789abcdef" * 4
    assert images["turnwise-gateway"].startswith("turnwise-gateway:")


def test_a_null_takes_a_key_out_of_the_security_context(overridden: Release) -> None:
    for name, spec, container in ours(overridden):
        assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        assert container["securityContext"].get("runAsUser") == (1000 if name == "turnwise-gateway" else None)
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_what_stands_beside_ours_is_in_each_pod_that_runs_for_ever(overridden: Release) -> None:
    for _, spec, container in ours(overridden):
        assert [one["name"] for one in spec["containers"][1:]] == ["mesh"]
        assert [one["name"] for one in spec["initContainers"]] == ["database-proxy"]
        assert [next(iter(one.values()))["name"] for one in container["envFrom"][:1]] == ["office"]
        assert container["envFrom"][1] == {"prefix": "APP_", "configMapRef": {"name": "app", "optional": True}}
        assert (spec["runtimeClassName"], spec["hostAliases"][0]["ip"]) == ("gvisor", "10.0.0.1")
        assert container["startupProbe"]["periodSeconds"] * container["startupProbe"]["failureThreshold"] == 300


def test_a_pod_that_ends_has_what_the_migration_needs_and_nothing_that_would_keep_it(overridden: Release) -> None:
    job = overridden.pods()["turnwise-migrate"]["spec"]

    assert [one["name"] for one in job["containers"]] == ["migrate"]
    assert [one["name"] for one in job["initContainers"]] == ["database-proxy"]


def test_deployments_are_replaced_as_told_and_one_component_otherwise(overridden: Release) -> None:
    specs = {name: one["spec"] for name, one in overridden.all_of("Deployment").items()}

    assert specs["worker-llm"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 1}
    assert specs["coordinator"]["strategy"] == {"type": "Recreate"}
    assert [specs[name]["revisionHistoryLimit"] for name in ("gateway", "worker-llm", "worker-agent")] == [2, 2, 9]
    assert {spec["minReadySeconds"] for spec in specs.values()} == {10}


def test_recreate_takes_no_numbers_of_a_rolling_update(engine: Engine) -> None:
    deployments = render(engine, {"deployment": {"strategy": {"type": "Recreate"}}}).all_of("Deployment")

    assert {one["spec"]["strategy"]["type"] for one in deployments.values()} == {"Recreate"}
    assert not any("rollingUpdate" in one["spec"]["strategy"] for one in deployments.values())


def test_queues_that_a_config_map_names_are_not_judged(engine: Engine) -> None:
    source = {"configMapKeyRef": {"name": "queues", "key": "llm"}}
    pools = [{"name": "all", "queues": ["llm", "agent"]}, {"name": "writer", "queues": ["llm-writer"]}]

    made = render(
        engine, {"workers": pools, "pod": {"extraEnv": [{"name": "TURNWISE_LLM_QUEUES", "valueFrom": source}]}}
    )

    assert "worker-writer" in made.all_of("Deployment")


def test_each_account_has_its_own_annotations_and_a_pool_may_have_another_account(overridden: Release) -> None:
    roles = {
        name: one["metadata"]["annotations"].get("example.com/role")
        for name, one in overridden.all_of("ServiceAccount").items()
    }
    used = {name: spec["serviceAccountName"] for name, spec, _ in ours(overridden)}

    assert roles == {"gateway": "gateway", "coordinator": None, "workers": "models"}
    assert used["turnwise-worker-agent"] == "tools"
    assert used["turnwise-worker-llm"] == "turnwise-workers"


def test_the_service_and_the_gateways_autoscaler_take_further_fields(overridden: Release) -> None:
    service, scaler = overridden.all_of("Service")[""], overridden.all_of("HorizontalPodAutoscaler")["gateway"]

    assert service["spec"]["loadBalancerSourceRanges"] == ["10.0.0.0/8"]
    assert service["metadata"]["labels"]["tier"] == "edge"
    assert scaler["spec"]["behavior"] == {"scaleDown": {"stabilizationWindowSeconds": 600}}


def test_the_gateway_knows_the_path_in_front_of_it_and_the_test_asks_there(overridden: Release) -> None:
    environment = {one["name"]: one.get("value") for one in next(ours(overridden))[2]["env"]}
    route, ingress = overridden.all_of("HTTPRoute")[""], overridden.all_of("Ingress")[""]

    assert environment["TURNWISE_ROOT_PATH"] == "/desk"
    (rule,) = route["spec"]["rules"]
    assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": "/desk"}}]
    assert rule["backendRefs"] == [{"name": "turnwise", "port": 80}]
    assert rule["timeouts"] == {"request": "0s"}  # or event streams would be cut
    (path,) = ingress["spec"]["rules"][0]["http"]["paths"]
    assert (path["path"], path["pathType"]) == ("/desk/", "ImplementationSpecific")
    assert overridden.pods()["turnwise-test"]["spec"]["containers"][0]["args"][1] == "http://turnwise:80/desk"


@pytest.mark.parametrize("given", [{}, {"gateway": {"rootPath": "/desk"}, "ingress": {"enabled": True}}], ids=str)
def test_a_root_path_is_set_only_where_there_is_one(engine: Engine, given: dict[str, Any]) -> None:
    environment = {one["name"]: one.get("value") for one in next(ours(render(engine, given)))[2]["env"]}

    assert environment.get("TURNWISE_ROOT_PATH") == ("/desk" if given else None)


def test_a_long_name_ends_in_a_hash_so_that_two_releases_do_not_share_objects(engine: Engine) -> None:
    names = [f"customer-support-production-{place}" for place in ("eu", "us")]

    made = [
        {one["metadata"]["name"] for one in render(engine, {"fullnameOverride": name}).everything} for name in names
    ]

    assert not made[0] & made[1]
    assert all(len(name) <= 63 for name in made[0] | made[1])


def test_a_releases_name_makes_names_that_kubernetes_takes_or_is_refused(engine: Engine) -> None:
    dotted = {one["metadata"]["name"] for one in render(engine, {}, "team.desk").everything if one["kind"] == "Service"}

    assert dotted == {"team-desk-turnwise"}
    with pytest.raises(ChartRefusedError, match="has to begin with a letter"):
        render(engine, {}, "1st-desk")


def test_a_pools_queues_may_be_served_elsewhere(engine: Engine) -> None:
    values = {"workers": [{"name": "llm", "queues": ["llm"]}], "queuesServedElsewhere": ["agent"]}

    assert "worker-llm" in render(engine, values).all_of("Deployment")


def test_pools_may_share_a_queue_where_one_of_them_follows_its_backlog(engine: Engine) -> None:
    fixed = {"name": "fixed", "queues": ["llm"], "scaling": {"enabled": False}}
    values = {"autoscaling": {"kind": "keda"}, "workers": [{"name": "all", "queues": ["llm", "agent"]}, fixed]}

    assert set(render(engine, values).all_of("ScaledObject")) == {"worker-all"}


def test_the_notes_and_the_evaluations_database_count_connections_as_the_processes_do(engine: Engine) -> None:
    each = ServiceSettings().database_connections + 1
    prefork = {"name": "agent", "queues": ["agent"], "pool": "prefork", "concurrency": 4, "replicas": 1}
    values = {"app": "own.app:app", "workers": [{"name": "llm", "queues": ["llm"]}, prefork]}
    release = render(engine, {**values, "evaluation": {"enabled": True}})

    (database,) = release.pods()["turnwise-postgresql"]["spec"]["containers"]

    needed = (2 + 2 + 2 + 1 + 4) * each  # gateways, coordinators, threads, a prefork worker and its children
    assert f"up to {needed} connections" in release.notes
    assert database["args"] == ["-c", f"max_connections={2 * needed + 20}"]
