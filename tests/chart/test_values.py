"""The chart's values: each is explained, the schema knows it, and what is wrong is refused by its name."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
import yaml
from tests.chart.conftest import NAMES, values_of
from tests.chart.engine import CHART, ChartRefusedError, Engine, render
from tests.chart.values_table import README, SETTINGS, readme, setting_names, values

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
# What Kubernetes is given as it is: its own schema says what may be in there.
PASSED_ON = {"affinity", "valueFrom", "claims", "tolerations", "gatewayFrom", "metricsFrom", "egress", "global"} | {
    *("passedOn", "extraSpec", "behavior", "sysctls"),
}


def objects(schema: Any, name: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Every object that the schema describes, with the name of its property."""
    found: list[tuple[str, dict[str, Any]]] = []
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            found.append((name, schema))
        for key, value in schema.items():
            found += objects(value, name if key in ("items", "allOf") else key)
    elif isinstance(schema, list):
        for value in schema:
            found += objects(value, name)
    return found


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)


def test_the_schema_lets_no_unknown_key_through() -> None:
    open_ones = {name for name, one in objects(SCHEMA) if "additionalProperties" not in one}

    assert open_ones <= PASSED_ON | {"named"}  # volumes and mounts: by their name


def test_the_schema_has_a_place_for_every_value_and_a_value_for_every_place() -> None:
    jsonschema.validate(VALUES, SCHEMA)
    assert set(VALUES) == set(SCHEMA["properties"]) - {"global"}
    assert set(VALUES) == set(SCHEMA["required"])
    assert set(VALUES["workerDefaults"]) == set(SCHEMA["definitions"]["worker"]["properties"]) - {"name", "queues"}


def test_every_value_has_a_comment() -> None:
    assert [value.path for value in values() if not value.comment] == []


def test_the_readme_lists_the_values_as_they_are() -> None:
    text = README.read_text()

    assert text == readme(text), "run: python -m tests.chart.values_table"


def test_the_readmes_comparison_names_values_that_there_are() -> None:
    text = README.read_text().partition("## Beside other charts")[2].partition("Deliberately absent")[0]
    known = {value.path for value in values()}

    named = {name for name in re.findall(r"`([\w.]+)`", text) if name.partition(".")[0] in VALUES}

    assert len(named) > 30
    assert named <= known


def test_every_value_is_used_by_a_template() -> None:
    text = "\n".join(path.read_text() for path in (CHART / "templates").rglob("*.*"))

    unused = [value.path for value in values() if not re.search(rf"\b{value.path.rpartition('.')[2]}\b", text)]

    assert unused == []


def test_the_chart_knows_the_settings_that_the_programs_know() -> None:
    assert SETTINGS.read_text() == setting_names(), "run: python -m tests.chart.values_table"


def test_every_file_of_values_is_of_a_name_that_is_tested() -> None:
    assert {f"{name}-values.yaml" for name in NAMES} == {path.name for path in (CHART / "ci").iterdir()}
    assert all(values_of(name) is not None for name in NAMES)


def test_the_chart_and_the_distribution_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = (CHART.parents[1] / "pyproject.toml").read_text()

    assert f'\nversion = "{chart["appVersion"]}"\n' in project


@pytest.mark.helm
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"replicas": 3}, "replicas"),
        ({"gateway": {"replicas": "two"}}, "/gateway/replicas"),
        ({"app": "module without an object"}, "/app"),
        ({"workers": []}, "/workers"),
        ({"workers": [{"name": "Upper", "queues": ["llm"]}]}, "/workers/0/name"),
        ({"workers": [{"name": "other", "queues": ["coordinator"]}]}, "/workers/0/queues/0"),
        ({"workers": [{"name": "other", "queues": ["llm"], "threads": 4}]}, "/workers/0"),
        ({"settings": {"MAX_COST": 2.5}}, "/settings/MAX_COST"),
        ({"settings": {"AUTH": "none"}}, "/settings/AUTH"),
        ({"settings": {"max-cost": "2"}}, "'max-cost' not allowed"),
        ({"settings": {"MAX_COTS": "2"}}, "TURNWISE_MAX_COTS is not a setting"),
        ({"pod": {"extraEnv": [{"name": "TURNWISE_MAX_COTS", "value": "2"}]}}, "TURNWISE_MAX_COTS is not a setting"),
        ({"gateway": {"env": [{"name": "TURNWISE_ATUH", "value": "keys"}]}}, "TURNWISE_ATUH is not a setting"),
        ({"pod": {"extraEnv": [{"name": "TURNWISE_DRAIN_SECONDS", "value": "9"}]}}, "set by drainSeconds of a pool"),
        (
            {"coordinator": {"env": [{"name": "TURNWISE_METRICS_BIND", "value": ":1"}]}},
            "probes and Services use the port",
        ),
        ({"secrets": {"databaseUrl": {"name": ""}}}, "/secrets/databaseUrl/name"),
        ({"autoscaling": {"kind": "vpa"}}, "/autoscaling/kind"),
        ({"evaluation": {"password": "with/slash"}}, "/evaluation/password"),
        ({"pod": {"extraEnv": [{"value": "nameless"}]}}, "/pod/extraEnv/0"),
        (
            {"workers": [{"name": "llm", "queues": ["llm"]}, {"name": "llm", "queues": ["agent"]}]},
            "two pools are called llm",
        ),
        (
            {"autoscaling": {"kind": "keda"}, "workerDefaults": {"scaling": {"minReplicas": 20}}},
            "pool llm: scaling.maxReplicas is 10, less than its minReplicas, 20",
        ),
        (
            {"autoscaling": {"kind": "hpa"}, "workerDefaults": {"scaling": {"minReplicas": 0}}},
            "a HorizontalPodAutoscaler cannot do",
        ),
        (
            {
                "autoscaling": {"kind": "keda", "keda": {"trigger": "rabbitmq"}},
                "workerDefaults": {"scaling": {"minReplicas": 0}},
            },
            "the trigger rabbitmq sees no leased work",
        ),
        ({"evaluation": {"enabled": True}, "brokerTls": {"secret": "tls"}}, "speaks no TLS"),
        ({"brokerTls": {"secret": "tls", "key": "tls.key"}}, "brokerTls.cert is not"),
        # Less than it seems: the pool is not scaled, and would be refused only on the day that it is.
        ({"workerDefaults": {"scaling": {"minReplicas": 20}}}, "scaling.maxReplicas is 10, less than"),
        ({"gateway": {"autoscaling": {"minReplicas": 7}}}, "gateway.autoscaling.maxReplicas is 6, less than"),
        ({"workers": [{"name": "llm", "queues": ["llm"]}]}, "no pool of workers serves the queue agent"),
        ({"settings": {"LLM_QUEUES": '{"writer": "slow"}'}}, "no pool of workers serves the queue llm-slow"),
        ({"workerDefaults": {"replicas": 0}}, "no pool of workers serves the queue llm"),
        ({"workers": [{"name": "all", "queues": ["llm", "agent", "llm-slow"]}]}, "llm-slow, which no agent is given"),
        ({"settings": {"LLM_QUEUES": "slow"}}, "settings.LLM_QUEUES is slow, which is not JSON"),
        (
            {
                "autoscaling": {"kind": "keda"},
                "workers": [{"name": "a", "queues": ["llm"]}, {"name": "b", "queues": ["llm", "agent"]}],
            },
            "pools a and b are both scaled by the whole backlog of the queue llm",
        ),
        ({"workers": [{"name": "a" * 31, "queues": ["llm"]}]}, "/workers/0/name"),
        ({"workers": [{"name": "-llm", "queues": ["llm"]}]}, "/workers/0/name"),
        ({"fullnameOverride": "1st"}, "/fullnameOverride"),
        ({"fullnameOverride": "My_Desk"}, "/fullnameOverride"),
        ({"nameOverride": "x" * 64}, "/nameOverride"),
        ({"commonLabels": {"team": "x" * 64}}, "/commonLabels/team"),
        ({"commonLabels": {"app.kubernetes.io/name": "other"}}, "/commonLabels/app.kubernetes.io~1name"),
        ({"pod": {"annotations": {"-bad": "x"}}}, "/pod/annotations"),
        ({"secrets": {"databaseUrl": {"name": "a..b"}}}, "/secrets/databaseUrl/name"),
        ({"secrets": {"databaseUrl": {"key": "a/b"}}}, "/secrets/databaseUrl/key"),
        ({"ingress": {"hosts": ["https://example.com"]}}, "/ingress/hosts/0"),
        ({"ingress": {"path": "/a//b"}}, "/ingress/path"),
        ({"images": {"digests": {"gateway": "sha256:short"}}}, "/images/digests/gateway"),
        ({"images": {"tag": "a b"}}, "/images/tag"),
        ({"pod": {"extraSpec": {"containers": []}}}, "/pod/extraSpec/containers"),
        ({"pod": {"securityContext": {"runAsRoot": True}}}, "/pod/securityContext"),
        ({"deployment": {"strategy": {"type": "Blue"}}}, "/deployment/strategy/type"),
        ({"settings": {"DRAIN_SECONDS": "5"}}, "/settings/DRAIN_SECONDS"),
        ({"httpRoute": {"enabled": True}}, "httpRoute.parentRefs is empty"),
        (
            {
                "ingress": {"enabled": True, "path": "/a"},
                "httpRoute": {"enabled": True, "path": "/b", "parentRefs": [{"name": "public"}]},
            },
            "another path in front of the gateway is",
        ),
        ({"monitoring": {"rules": {"alerts": {"TurnwiseQueueSlwo": {"for": "1m"}}}}}, "there is no such alert"),
        (
            {"monitoring": {"rules": {"enabled": True, "alerts": {"TurnwiseQueueSlow": {"thresholds": {"121": 2}}}}}},
            "thresholds has 121, but its expression compares with no such number",
        ),
    ],
    ids=str,
)
def test_a_wrong_value_is_refused_with_its_path(engine: Engine, wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(ChartRefusedError) as refused:
        render(engine, wrong)

    assert told in str(refused.value)
