"""What the chart makes is what Kubernetes takes, hangs together, and runs our processes as they want to be run."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from tests.chart import resources
from tests.chart.conftest import values_of
from tests.chart.engine import Engine, Release, install
from tests.support.monitoring import DASHBOARDS, RULES, dashboard

from turnwise.processes.setting_names import OTHER_NAMES
from turnwise.processes.settings import load_settings
from turnwise_gateway.server import _GRACE

pytestmark = pytest.mark.helm

Object = dict[str, Any]
KUBERNETES = ("1.27", "1.34")  # the oldest that the chart allows, and a recent one
OWN = "turnwise-"


def containers(release: Release) -> Iterator[tuple[str, Object]]:
    """Every container that runs one of our images, init containers too, with its pod's name."""
    for name, pod in release.pods().items():
        for container in [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]:
            if container["image"].split("/")[-1].startswith((OWN, "support-")):
                yield name, container


def workloads(release: Release) -> dict[str, Object]:
    """Return the workloads that run for ever."""
    return {one["metadata"]["name"]: one for one in release.everything if one["kind"] in ("Deployment", "StatefulSet")}


def matches(selector: Object, labels: dict[str, str]) -> bool:
    """Return whether a selector with labels and expressions picks these labels."""
    for expression in selector.get("matchExpressions", []):
        inside = labels.get(expression["key"]) in expression["values"]
        if inside is not (expression["operator"] == "In"):
            return False
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def labels_of_pods(release: Release) -> list[dict[str, str]]:
    return [pod["metadata"]["labels"] for pod in release.pods().values()]


def test_helm_finds_nothing_wrong_with_the_chart(engine: Engine) -> None:
    assert engine.lint() == ""


def test_the_schema_is_brought_up_to_date_before_anything_else_is_made(engine: Engine) -> None:
    created = install(engine, values_of("default"))

    assert [one["kind"] for one in created].index("Job") == 0
    assert created[0]["spec"]["template"]["spec"]["containers"][0]["args"] == ["migrate"]
    assert {"Deployment", "Service"} <= {one["kind"] for one in created}


@pytest.fixture(scope="module")
def validate() -> Iterator[Callable[..., str]]:
    """`kubernetes_validate.validate`, which would parse megabytes of definitions again for each object."""
    from kubernetes_validate import utils

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utils, "schema_contents", functools.cache(utils.schema_contents))
        yield utils.validate


@pytest.mark.parametrize("version", KUBERNETES)
def test_every_manifest_is_one_that_kubernetes_takes(
    release: Release, version: str, validate: Callable[..., str]
) -> None:
    for one in release.everything:
        if (one["apiVersion"], one["kind"]) in resources.SPECS:
            resources.check(one)
        else:
            validate(one, version, strict=True)


def test_every_object_has_a_name_of_its_own_that_is_short_enough(release: Release) -> None:
    names = [(one["kind"], one["metadata"]["name"]) for one in release.everything]

    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name) for _, name in names)


def test_a_selector_picks_the_pods_of_its_own_workload_and_no_others(release: Release) -> None:
    for name, workload in workloads(release).items():
        picked = [
            pod
            for pod, one in release.pods().items()
            if matches(workload["spec"]["selector"], one["metadata"]["labels"])
        ]
        assert picked == [name]


def test_whatever_points_to_pods_points_to_some(release: Release) -> None:
    for one in release.everything:
        spec = one.get("spec", {})
        if one["kind"] == "Service":
            found = [labels for labels in labels_of_pods(release) if matches({"matchLabels": spec["selector"]}, labels)]
            assert len(found) == 1, one["metadata"]["name"]
        elif one["kind"] in ("PodDisruptionBudget", "PodMonitor"):
            assert any(matches(spec["selector"], labels) for labels in labels_of_pods(release)), one["metadata"]["name"]
        elif one["kind"] == "NetworkPolicy":
            assert any(matches(spec["podSelector"], labels) for labels in labels_of_pods(release))


def test_a_port_that_is_named_somewhere_is_a_port_of_the_pods_behind_it(release: Release) -> None:
    ports = {
        port["name"]: port["containerPort"]
        for pod in release.pods().values()
        for container in pod["spec"]["containers"]
        for port in container.get("ports", [])
    }
    services = release.all_of("Service")

    for one in services.values():
        assert all(port["targetPort"] in ports for port in one["spec"]["ports"])
    for one in release.all_of("PodMonitor").values():
        assert all(endpoint["port"] in ports for endpoint in one["spec"]["podMetricsEndpoints"])
    for one in release.all_of("ServiceMonitor").values():
        picked = [svc for svc in services.values() if matches(one["spec"]["selector"], svc["metadata"]["labels"])]
        assert [endpoint["port"] for endpoint in one["spec"]["endpoints"]] == [picked[0]["spec"]["ports"][0]["name"]]
    for one in release.all_of("Ingress").values():
        backend = one["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
        assert backend["port"]["name"] in [port["name"] for port in services[""]["spec"]["ports"]]
    for one in release.all_of("NetworkPolicy").values():
        named = [port["port"] for rule in one["spec"].get("ingress", []) for port in rule.get("ports", [])]
        assert all(port in ports or port in ports.values() for port in named)


def test_only_the_evaluation_mode_makes_a_secret(release: Release) -> None:
    assert set(release.all_of("Secret")) == ({"evaluation"} if "EVALUATION MODE" in release.notes else set())


def test_a_hook_needs_nothing_that_is_made_after_it(release: Release) -> None:
    made = {one["metadata"]["name"] for one in release.objects if one["kind"] in ("Secret", "ServiceAccount")}

    for job in release.all_of("Job").values():
        pod = job["spec"]["template"]["spec"]
        used = {pod.get("serviceAccountName"), *(entry for entry in _secrets_of(pod))}
        assert not used & made


def _secrets_of(pod: Object) -> Iterator[str]:
    for container in pod["containers"]:
        for entry in container.get("env", []):
            if "valueFrom" in entry:
                yield entry["valueFrom"]["secretKeyRef"]["name"]
    for volume in pod["volumes"]:
        if "secret" in volume:
            yield volume["secret"]["secretName"]


def test_a_pod_runs_under_an_account_that_exists(release: Release) -> None:
    accounts = {one["metadata"]["name"] for one in release.everything if one["kind"] == "ServiceAccount"}

    used = {pod["spec"]["serviceAccountName"] for pod in release.pods().values() if "serviceAccountName" in pod["spec"]}

    assert used - {"llm-callers", "tools"} == (accounts or {"default"})


def test_our_processes_have_no_rights_beyond_their_own(release: Release) -> None:
    for pod in release.pods().values():
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"][:1]:  # others are an operator's
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert {"cpu", "memory"} <= set(container["resources"]["requests"])
    for name, container in containers(release):
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert release.pods()[name]["spec"]["securityContext"].get("runAsUser", "theirs") in (10001, "theirs")


def test_a_process_is_probed_where_it_tells_of_its_health(release: Release) -> None:
    for name, pod in release.pods().items():
        if name not in workloads(release) or name.endswith(("postgresql", "rabbitmq", "model")):
            continue
        container = pod["spec"]["containers"][0]
        (port,) = container["ports"]
        bind = {entry["name"]: entry.get("value") for entry in container["env"]}
        address = bind["TURNWISE_BIND" if name.endswith("gateway") else "TURNWISE_METRICS_BIND"]
        assert address == f"0.0.0.0:{port['containerPort']}"
        paths = {kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
        assert paths["readiness"] == {"path": "/health/ready", "port": port["name"]}
        assert paths["startup"] == paths["liveness"] == {"path": "/health/live", "port": port["name"]}


def test_a_pod_may_take_longer_to_stop_than_its_work_to_end(rendered: Callable[[str], Release]) -> None:
    pods = rendered("own-application").pods()

    grace = {name.removeprefix(OWN): pod["spec"].get("terminationGracePeriodSeconds", 0) for name, pod in pods.items()}

    assert grace["worker-writer"] > 900  # its drainSeconds
    assert grace["worker-agent"] > 120
    assert grace["coordinator"] > 15
    variables = {one["name"]: one.get("value") for one in pods[f"{OWN}worker-writer"]["spec"]["containers"][0]["env"]}
    assert variables["TURNWISE_DRAIN_SECONDS"] == "900"
    pause = int(pods["turnwise-gateway"]["spec"]["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    assert grace["gateway"] > pause + _GRACE


def test_every_command_is_one_of_turnwise_with_options_that_it_has(release: Release) -> None:
    import typer.main

    from turnwise.cli.main import app

    program: Any = typer.main.get_command(app)
    for name, container in containers(release):
        arguments = container.get("args", [])
        if container.get("command", [None])[0] == "python":
            continue  # the release's test, which has a test of its own
        if container.get("command"):
            arguments = re.findall(r"turnwise (\w+)", " ".join(arguments))
        command = program.commands[arguments[0]]
        command.make_context(name, list(arguments[1:]))


def test_every_setting_is_one_that_a_process_reads(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "DATABASE_URL": "postgresql://h/d",
        "BROKER_URL": "amqp://h",
        "WIRE_KEYS": '["key"]',
        "AUTH_TOKEN": "token",
    }
    for name, container in containers(release):
        if name in ("turnwise-test", "turnwise-model"):
            continue  # a client, with a client's variables; and one that has none
        entries = [entry for entry in container["env"] if entry["name"].startswith("TURNWISE_")]
        entries = [entry for entry in entries if entry["name"] not in OTHER_NAMES]
        names = {entry["name"].removeprefix("TURNWISE_").lower() for entry in entries}
        with monkeypatch.context() as patch:
            for entry in entries:
                patch.setenv(entry["name"], entry.get("value") or given[entry["name"].removeprefix("TURNWISE_")])
            settings = load_settings()
        assert names == settings.model_fields_set & names
        if name == "turnwise-gateway":
            settings.check_issuer()


def test_the_gateway_lets_in_who_has_the_token_or_a_key(rendered: Callable[[str], Release]) -> None:
    def environment(name: str, pod: str) -> dict[str, Any]:
        (container,) = rendered(name).pods()[f"turnwise-{pod}"]["spec"]["containers"]
        return {entry["name"]: entry.get("value") for entry in container.get("env", [])}

    by_token, by_key = environment("redis", "gateway"), environment("own-application", "gateway")

    assert (by_token["TURNWISE_AUTH"], "TURNWISE_AUTH_TOKEN" in by_token) == ("token", True)
    assert (by_key["TURNWISE_AUTH"], "TURNWISE_AUTH_TOKEN" in by_key) == ("keys", False)
    assert list(environment("redis", "test")) == ["TURNWISE_AUTH_TOKEN"]
    assert list(environment("own-application", "test")) == ["TURNWISE_API_KEY"]


def test_a_prefork_worker_counts_into_a_folder_of_its_own(rendered: Callable[[str], Release]) -> None:
    pod = rendered("keda-postgresql").pods()["turnwise-worker-agent"]["spec"]
    (container,) = pod["containers"]

    folder = next(entry["value"] for entry in container["env"] if entry["name"] == "PROMETHEUS_MULTIPROC_DIR")
    volume = next(mount["name"] for mount in container["volumeMounts"] if mount["mountPath"] == folder)

    assert {"name": volume, "emptyDir": {}} in pod["volumes"]


def test_keys_of_a_pool_replace_those_of_all_pods_and_its_variables_come_with_theirs(
    rendered: Callable[[str], Release],
) -> None:
    pods = rendered("own-application").pods()
    agent, gateway = pods["turnwise-worker-agent"], pods["turnwise-gateway"]

    names = [entry["name"] for entry in agent["spec"]["containers"][0]["env"]]

    assert names[-2:] == ["TZ", "SUPPORT_DESK"]
    assert agent["spec"]["tolerations"] == [{"key": "dedicated", "operator": "Exists"}]
    assert agent["metadata"]["labels"]["team"] == "support"
    assert "tolerations" not in gateway["spec"]


def test_the_rules_and_dashboards_are_those_of_every_other_installation(rendered: Callable[[str], Release]) -> None:
    release = rendered("everything")

    made = release.all_of("PrometheusRule")
    assert {name: one["spec"] for name, one in made.items()} == {
        path.stem.removeprefix(OWN): yaml.safe_load(path.read_text()) for path in RULES
    }
    boards = {key: text for one in release.all_of("ConfigMap").values() for key, text in one["data"].items()}
    assert {key: json.loads(text) for key, text in boards.items()} == {
        path.name: dashboard(path) for path in DASHBOARDS
    }


def test_the_evaluation_needs_no_server_of_anybodys(rendered: Callable[[str], Release]) -> None:
    release = rendered("everything")
    secret = release.all_of("Secret")["evaluation"]["stringData"]
    services = {one["metadata"]["name"] for one in release.everything if one["kind"] == "Service"}

    hosts = {re.search(r"@([^:]+):", secret[key])[1] for key in ("database-url", "broker-url")}  # type: ignore[index]

    assert hosts == {"turnwise-postgresql.office.svc", "turnwise-rabbitmq.office.svc"}
    assert {host.partition(".")[0] for host in hosts} <= services
    assert secret["password"] == "notasecret"
    assert secret["auth-token"] == "notatoken"
    assert not release.all_of("Job")
    for name, pod in release.pods().items():
        if name in workloads(release) and "-worker-" in name:
            assert pod["spec"]["initContainers"][0]["name"] == "migrate"


def test_passwords_of_the_evaluation_are_long_and_made_afresh(
    engine: Engine, rendered: Callable[[str], Release]
) -> None:
    secret = rendered("evaluation").all_of("Secret")["evaluation"]["stringData"]

    assert len(secret["password"]) == 32
    assert len(secret["auth-token"]) == 48
    assert secret["password"] in secret["database-url"]


def test_the_notes_say_how_to_reach_the_gateway_and_how_many_workers_there_are(
    rendered: Callable[[str], Release],
) -> None:
    plain, scaled = rendered("own-application").notes, rendered("keda-postgresql").notes

    assert "port-forward service/turnwise 8080:80" in plain
    assert "exec deployment/turnwise-gateway -- turnwise keys create" in plain
    assert "get secret gateway" in rendered("redis").notes
    assert "writer on llm-writer: 3, 16 at a time in each" in plain
    assert "llm on llm, llm-writer: 1 to 50 (keda), 100 at a time in each" in scaled
    assert "EVALUATION MODE" in rendered("evaluation").notes
