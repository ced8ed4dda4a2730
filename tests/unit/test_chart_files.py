"""The chart's values fit its schema, and its templates use no value that is not there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from turnwise.service_settings import ServiceSettings

CHART = Path(__file__).parents[2] / "helm" / "turnwise"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
TEMPLATES = sorted((CHART / "templates").rglob("*.*"))
EXAMPLES = sorted((CHART / "ci").glob("*.yaml"))


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`base` with `over` laid on it as Helm does: maps are merged, everything else is replaced."""
    result = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        result[key] = merged(base[key], value) if both else value
    return result


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)


def test_the_default_values_fit_the_schema() -> None:
    jsonschema.validate(VALUES, SCHEMA)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_values_fit_the_schema(example: Path) -> None:
    jsonschema.validate(merged(VALUES, yaml.safe_load(example.read_text())), SCHEMA)


@pytest.mark.parametrize(
    "wrong",
    [
        {"replicas": 3},
        {"gateway": {"replicas": "two"}},
        {"gateway": {"ingress": {}}},
        {"app": "module without an object"},
        {"workers": []},
        {"workers": [{"name": "Upper", "queues": ["llm"], "replicas": 1}]},
        {"workers": [{"name": "other", "queues": ["coordinator"], "replicas": 1}]},
        {"settings": {"MAX_COST": 2.5}},
        {"settings": {"AUTH": "none"}},
        {"secrets": {"databaseUrl": {"name": ""}}},
    ],
    ids=str,
)
def test_a_wrong_value_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(merged(VALUES, wrong), SCHEMA)


def test_every_value_has_a_place_in_the_schema() -> None:
    assert set(VALUES) == set(SCHEMA["properties"]) - {"global"}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_a_template_uses_only_values_that_exist(template: Path) -> None:
    for dotted in re.findall(r"\.Values\.(\w+(?:\.\w+)*)", template.read_text()):
        value: Any = VALUES
        for part in dotted.split("."):
            assert part in value, f"{template.name} uses .Values.{dotted}, which values.yaml does not have"
            value = value[part]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_a_template_closes_what_it_opens(template: Path) -> None:
    text = template.read_text()

    opened = re.findall(r"{{-?\s*(?:if|with|range|define)\b", text)
    closed = re.findall(r"{{-?\s*end\b", text)

    assert len(opened) == len(closed)


def test_a_template_sets_only_variables_that_a_process_reads() -> None:
    known = {f"TURNWISE_{field.upper()}" for field in ServiceSettings.model_fields}

    used = {name for path in TEMPLATES for name in re.findall(r"TURNWISE_[A-Z_]+[A-Z]", path.read_text())}

    assert used <= known


def test_the_chart_and_the_distribution_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = (CHART.parents[1] / "pyproject.toml").read_text()

    assert f'\nversion = "{chart["appVersion"]}"\n' in project
