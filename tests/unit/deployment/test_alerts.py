"""The rules of Prometheus as promtool sees them, and the pages that they lead to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from tests.support.monitoring import DEPLOY, RULE_TESTS, RULES, alerts, known_samples, metrics_in, promtool, rules

_RUNBOOK = DEPLOY.parent / "docs" / "runbook.md"
_PAGE = "https://github.com/turnwise/turnwise/blob/main/docs/runbook.md"


def test_the_rules_are_well_formed() -> None:
    checked = promtool("check", "rules", "--lint-fatal", *RULES)

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_rules_use_metrics_that_exist_and_series_that_they_record() -> None:
    known = known_samples()
    recorded = {rule["record"] for rule in rules() if "record" in rule}

    for rule in rules():
        assert metrics_in(rule["expr"]) <= known, rule
    used = {name for name in recorded if any(name in rule["expr"] for rule in rules())}
    assert used == recorded


def test_each_alert_says_how_urgent_it_is_and_what_is_wrong() -> None:
    for name, rule in alerts().items():
        assert name.startswith("Turnwise")
        assert rule["labels"]["severity"] in ("critical", "warning", "info"), name
        assert rule["for"], name
        assert {"summary", "description", "runbook_url"} == rule["annotations"].keys(), name


def test_alerts_fire_when_they_should_and_only_then() -> None:
    tested = promtool("test", "rules", *RULE_TESTS)

    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_each_alert_is_tried_where_it_should_fire_and_where_not() -> None:
    asked = [query for path in RULE_TESTS for case in _cases(path) for query in case["promql_expr_test"]]

    for name in alerts():
        mine = [query for query in asked if _is_about(query["expr"], name)]
        assert any(query.get("exp_samples") for query in mine), f"{name} never fires"
        # Among several series of which one fires, the others are those that must not.
        silent = [query for query in mine if not query.get("exp_samples") or "group by" in query["expr"]]
        assert silent, f"{name} is never silent"


def test_each_alert_leads_to_its_section_of_the_runbook_and_each_section_is_of_an_alert() -> None:
    text = _RUNBOOK.read_text()
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))

    assert sections.keys() == alerts().keys()
    for name, rule in alerts().items():
        assert rule["annotations"]["runbook_url"] == f"{_PAGE}#{name.lower()}"
        assert re.findall(r"^\*\*(.+?)\*\*", sections[name], re.MULTILINE) == ["It means", "Look at", "Do"], name


def test_alertmanager_holds_back_alerts_that_there_are() -> None:
    kept = yaml.safe_load((DEPLOY / "alertmanager" / "alertmanager.yml").read_text())["inhibit_rules"]

    for rule in kept:
        for matcher in (*rule["source_matchers"], *rule["target_matchers"]):
            pattern = matcher.split("=", 1)[1].removeprefix("~").strip('"')
            assert [name for name in alerts() if re.fullmatch(pattern, name)], matcher


def _cases(path: Path) -> Any:
    return yaml.safe_load(path.read_text())["tests"]


def _is_about(expression: str, alert: str) -> bool:
    found = re.search(r'alertname=(~?)"([^"]+)"', expression)
    assert found is not None, expression
    return bool(re.fullmatch(found[2], alert)) if found[1] else found[2] == alert
