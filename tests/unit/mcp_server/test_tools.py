from __future__ import annotations

import pytest

from turnwise.api.fleet import TaskView
from turnwise.errors import InvalidRequestError
from turnwise.mcp_server.arguments import TaskArguments, read
from turnwise.mcp_server.tools import shown, tasks_by_tool


def task(name: str, *, description: str = "", keeps: bool = False) -> TaskView:
    return TaskView(
        name=name, application="desk", version="1", paths=[name], keeps_conversation=keeps, description=description
    )


def test_names_of_tools_are_such_as_every_client_takes_and_never_meet() -> None:
    names = ["triage", "tri age", "tri/age", "result", "Übersicht", "x" * 70, "x" * 80, "…"]

    named = tasks_by_tool(map(task, names))

    assert {found.name: name for name, found in named.items()} == {
        "triage": "triage",
        "tri age": "tri_age",
        "tri/age": "tri_age_2",
        "result": "result_2",
        "Übersicht": "_bersicht",
        "x" * 70: "x" * 64,
        "x" * 80: "x" * 62 + "_2",
        "…": "_",
    }


def test_a_tool_says_what_its_task_does() -> None:
    plain, kept, *_ = shown([task("triage"), task("desk", description="Talks.", keeps=True)])

    assert plain.description == "Run the task triage of the application desk."
    assert kept.description == "Talks. It remembers what was said in the same session_id."


def test_schemas_of_arguments_have_no_unions_and_no_references() -> None:
    for tool in shown([task("triage")]):
        assert not {"anyOf", "$ref", "$defs", "default"} & set(str(tool.input_schema).replace("'", " ").split())


@pytest.mark.parametrize("cost", ["0.5", 0.5, 1])
def test_an_amount_may_be_a_text_or_a_number(cost: object) -> None:
    assert read(TaskArguments, {"message": "hello", "max_cost": cost}).max_cost == float(str(cost))


@pytest.mark.parametrize("cost", ["much", "NaN", "-inf", [1], "-1", "1e12", "1e300000000", "1e-300000000", "0.5e-18"])
def test_an_amount_that_is_none_is_refused(cost: object) -> None:
    with pytest.raises(InvalidRequestError, match="max_cost"):
        read(TaskArguments, {"message": "hello", "max_cost": cost})
