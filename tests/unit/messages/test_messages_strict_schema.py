"""Schemas that a decoder can hold a model to, checked by the rules that the fake server has of them."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from turnwise.messages.schema.json_schema import clean_schema, strict_schema
from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.strict import schema_faults


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Leaf(BaseModel):
    kind: Literal["leaf"] = "leaf"
    colour: Colour = Field(Colour.RED, description="What it looks like.")


class Node(BaseModel):
    kind: Literal["node"]
    children: list[Node | Leaf] = Field(default_factory=list)


class Everything(BaseModel):
    text: str = Field(min_length=1, max_length=5, pattern="^a", description="Some text.")
    number: float = Field(0.5, gt=0)
    flag: bool | None = None
    when: datetime
    where: Path
    choice: Leaf | Node = Field(discriminator="kind")
    one: Leaf = Field(description="The one.")
    many: list[Leaf] = Field(max_length=3)


class Anything(BaseModel):
    value: Any


class Table(BaseModel):
    rows: dict[str, int]


class Pair(BaseModel):
    both: tuple[int, str]


class Open(BaseModel, extra="allow"):
    name: str


def schema_of(kind: type[BaseModel]) -> dict[str, Any]:
    return clean_schema(kind.model_json_schema(), hidden=set(), defaults=True)


def faults(schema: dict[str, Any]) -> list[str]:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
    return schema_faults(ChatRequest(model="m", messages=[{"role": "user"}], response_format=wanted))


@pytest.mark.parametrize("kind", [Everything, Leaf, Node])
def test_a_strict_schema_is_one_that_servers_take(kind: type[BaseModel]) -> None:
    made = strict_schema(schema_of(kind))

    assert made is not None
    assert faults(made) == []
    assert faults(schema_of(kind)) != []
    Draft202012Validator.check_schema(made)


def test_what_follows_the_strict_schema_fits_the_class() -> None:
    made = strict_schema(schema_of(Everything))
    assert made is not None
    leaf = {"kind": "leaf", "colour": "blue"}
    fields = {"text": "abc", "number": 1, "flag": None, "when": "2026-01-01T00:00:00Z", "where": "/tmp"}
    answer = fields | {"choice": {"kind": "node", "children": [leaf]}, "one": leaf, "many": [leaf]}

    Draft202012Validator(made).validate(answer)

    assert isinstance(Everything.model_validate(answer).choice, Node)
    assert made["properties"]["one"]["description"] == "The one."


@pytest.mark.parametrize("kind", [Anything, Table, Pair])
def test_what_can_not_be_strict_is_said_so(kind: type[BaseModel]) -> None:
    assert strict_schema(schema_of(kind)) is None


def test_an_object_that_allows_anything_by_an_empty_schema_cannot_be_strict() -> None:
    assert strict_schema({"type": "object", "properties": {}, "additionalProperties": {}}) is None


def test_a_class_with_extra_fields_is_closed_to_them() -> None:
    made = strict_schema(schema_of(Open))

    assert made is not None
    assert made["additionalProperties"] is False


def test_the_fake_server_says_what_is_wrong() -> None:
    assert faults({"type": "object", "properties": {"a": {"type": "string", "default": ""}}}) == [
        "Invalid schema for response_format: schema: additionalProperties must be false",
        "Invalid schema for response_format: schema: required must list every property",
        "Invalid schema for response_format: schema.a: default is not permitted",
    ]
