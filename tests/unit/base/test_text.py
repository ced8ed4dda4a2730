"""Values as texts."""

from __future__ import annotations

from pydantic import BaseModel

from turnwise.base.text import value_as_text


class Point(BaseModel):
    x: int


def test_a_model_is_json_and_its_class_is_named() -> None:
    assert value_as_text(Point(x=1)) == '{"x":1}'
    assert value_as_text(Point) == str(Point)
