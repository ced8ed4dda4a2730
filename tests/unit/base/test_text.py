"""Values as texts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from turnwise import ToolMessage
from turnwise.base.text import value_as_text, visible, visible_json


class Point(BaseModel):
    x: int


def test_a_model_is_json_and_its_class_is_named() -> None:
    assert value_as_text(Point(x=1)) == '{"x":1}'
    assert value_as_text(Point) == str(Point)


class Call(ToolMessage):
    request: str = "call"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([Point(x=1), Point(x=2)], '[{"x": 1}, {"x": 2}]'),
        ({"a": Point(x=1), "b": [Point(x=2)]}, '{"a": {"x": 1}, "b": [{"x": 2}]}'),
        ([Point], str([Point])),
        ([Point(x=1), object], str([Point(x=1), object])),
    ],
)
def test_models_within_a_value_are_json(value: object, text: str) -> None:
    assert value_as_text(value) == text


def test_a_tool_within_a_value_is_no_tool_of_the_text() -> None:
    assert "{" not in value_as_text([Call()])


@given(st.text(st.characters(exclude_categories=())), st.sampled_from([None, 2]))
def test_json_to_look_at_is_the_same_value_and_hides_nothing(text: str, indent: int | None) -> None:
    shown = visible_json({"said": [text]}, indent=indent)

    assert visible(shown) == shown
    shown.encode()
    assert json.loads(shown) == json.loads(json.dumps({"said": [text]}))


def test_json_to_look_at_keeps_letters_and_line_ends() -> None:
    assert visible_json({"é": "\x9b\u202e \ud83c"}, indent=1) == '{\n "é": "\\u009b\\u202e \\ud83c"\n}'
