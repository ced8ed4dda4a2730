"""The dashboards as files: what Grafana needs of them, and what whoever reads them may expect."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.monitoring import DASHBOARDS, dashboard, expressions, known_samples, metrics_in

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Ids of Grafana's units that we use; its list has no schema that could be asked.
_UNITS = {"short", "s", "cpm", "bytes", "percentunit", "currencyUSD"}
_BUILT_IN = {"__rate_interval", "__range", "__interval", "__all"}

_all = pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)


def test_there_is_a_dashboard_for_each_subject() -> None:
    boards = [dashboard(path) for path in DASHBOARDS]

    assert [board["uid"] for board in boards] == [path.stem for path in DASHBOARDS]
    assert {board["title"].removeprefix("Turnwise / ") for board in boards} == {
        "Overview",
        "Conversations",
        "LLM spend and limits",
        "Queues and autoscaling",
        "Workers",
        "Tools and humans",
    }


@_all
def test_a_dashboard_says_what_it_is_for_and_leads_to_the_others(path: Path) -> None:
    board = dashboard(path)

    assert board["description"].endswith((".", "?"))
    assert (board["schemaVersion"], board["editable"], board["tags"]) == (39, True, ["turnwise"])
    (link,) = board["links"]
    assert (link["type"], link["tags"]) == ("dashboards", ["turnwise"])
    assert link["includeVars"] and link["keepTime"]


@_all
def test_each_panel_has_a_title_a_description_and_a_unit(path: Path) -> None:
    for panel in _panels(path):
        assert panel["title"] and panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in _UNITS, panel["title"]
        assert panel["datasource"] == _SOURCE, panel["title"]
        assert [target["refId"] for target in panel["targets"]] == list("ABCD"[: len(panel["targets"])])


@_all
def test_panels_have_their_own_ids_and_do_not_overlap(path: Path) -> None:
    panels = dashboard(path)["panels"]

    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] >= 0 and place["x"] + place["w"] <= 24, panel["title"]
    for one, other in itertools.combinations(panels, 2):
        assert not _overlap(one["gridPos"], other["gridPos"]), (one["title"], other["title"])


@_all
def test_a_dashboard_uses_the_variables_that_it_has_and_has_those_that_it_uses(path: Path) -> None:
    board = dashboard(path)
    variables = {one["name"]: one for one in board["templating"]["list"]}

    assert list(variables)[:3] == ["datasource", "namespace", "job"]
    used = set(re.findall(r"\$\{?(\w+)", path.read_text())) - _BUILT_IN
    assert used == set(variables)
    for name, one in list(variables.items())[1:]:
        # What has no such label, as `namespace` outside of Kubernetes, is chosen too.
        assert (one["includeAll"], one["allValue"], one["current"]["value"]) == (True, ".*", "$__all"), name


@_all
def test_rates_fit_the_interval_of_the_scrapes(path: Path) -> None:
    for expression in expressions(path):
        for span in re.findall(r"\[([^\]]+)\]", expression.text):
            assert span in ("$__rate_interval", "$__range", "1h", "1d"), expression.where
        assert re.search(r'namespace=~"\$namespace"', expression.text), expression.where


@_all
def test_a_dashboard_asks_for_metrics_that_exist(path: Path) -> None:
    known = known_samples()

    for expression in expressions(path):
        assert metrics_in(expression.text) <= known, expression.where


def test_every_metric_of_ours_is_in_a_dashboard() -> None:
    shown = {name for path in DASHBOARDS for each in expressions(path) for name in metrics_in(each.text)}
    counted = {
        name for name in known_samples() if name.startswith("turnwise_") and not name.endswith(("_sum", "_count"))
    }

    assert counted <= shown


def _panels(path: Path) -> list[Any]:
    return [panel for panel in dashboard(path)["panels"] if panel["type"] != "row"]


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return (
        one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    )
