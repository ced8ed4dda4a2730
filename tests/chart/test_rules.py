"""Alerts are those of deploy/prometheus, with the changes that the values name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.chart import resources
from tests.chart.conftest import values_of
from tests.chart.engine import Engine, Release, render
from tests.support.monitoring import RULES, promtool

pytestmark = pytest.mark.helm


def alerts(release: Release) -> dict[str, dict[str, Any]]:
    """Every alert of a release, by name."""
    groups = [group for one in release.all_of("PrometheusRule").values() for group in one["spec"]["groups"]]
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}


def originals(files: Iterable[Path] = RULES) -> dict[str, dict[str, Any]]:
    """Every alert of deploy/prometheus, or of some of its files, by name."""
    groups = [group for path in files for group in yaml.safe_load(path.read_text())["groups"]]
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}


@pytest.fixture
def changed(rendered: Callable[[str], Release]) -> dict[str, dict[str, Any]]:
    return alerts(rendered("overrides"))


def test_a_threshold_replaces_the_number_that_the_expression_compares_with(changed: dict[str, dict[str, Any]]) -> None:
    before = originals()

    one, two, objective = "TurnwiseQueueSlow", "TurnwiseRunsFailing", "TurnwiseAcceptanceBurnsFast"

    assert changed[one]["expr"] == before[one]["expr"].replace("> 120", "> 300")
    assert changed[two]["expr"] == before[two]["expr"].replace("> 0.1", "> 0.25").replace(">= 10", ">= 50")
    assert changed[objective]["expr"] == before[objective]["expr"].replace("* 0.001", "* 0.01")
    assert changed["TurnwiseRepliesDiscarded"]["expr"].endswith("> 0")
    assert changed[one]["for"] == "10m"


def test_labels_of_one_alert_go_before_those_of_all_and_both_before_ours(changed: dict[str, dict[str, Any]]) -> None:
    assert changed["TurnwiseQueueSlow"]["labels"] == {"severity": "info", "team": "support"}
    assert changed["TurnwiseQueueStuck"]["labels"] == {"severity": "critical", "team": "support"}


def test_an_alert_can_be_switched_off_and_the_others_stay_as_they_are(changed: dict[str, dict[str, Any]]) -> None:
    before = originals()

    assert set(before) - set(changed) == {"TurnwiseVersionsMixed"}
    for name, rule in changed.items():
        if name not in values_of("overrides")["monitoring"]["rules"]["alerts"]:
            assert {key: value for key, value in rule.items() if key != "labels"} == {
                key: value for key, value in before[name].items() if key != "labels"
            }


def test_a_group_and_an_object_whose_alerts_are_all_switched_off_are_left_out(engine: Engine) -> None:
    files = [path for path in RULES if path.stem in ("turnwise-slo", "turnwise-spend")]
    off = {name: {"enabled": False} for name in originals(files)}

    made = render(engine, {"monitoring": {"rules": {"enabled": True, "alerts": off}}}).all_of("PrometheusRule")

    assert set(made) == {"fleet", "recording", "runs", "slo"}
    assert [group["name"] for group in made["slo"]["spec"]["groups"]] == ["turnwise-slo-recording"]
    for one in made.values():
        resources.check(one)


def test_prometheus_takes_the_changed_rules(rendered: Callable[[str], Release], tmp_path: Path) -> None:
    for name, one in rendered("overrides").all_of("PrometheusRule").items():
        file = tmp_path / f"{name}.yml"
        file.write_text(yaml.safe_dump(one["spec"]))
        done = promtool("check", "rules", file)
        assert done.returncode == 0, done.stdout + done.stderr
