"""Models read back from what was written of them: nothing is validated twice."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    WrapValidator,
    computed_field,
    field_serializer,
    field_validator,
    model_validator,
)

from turnwise import ChatAgent, ResultTool, ToolMessage
from turnwise.messages.bare_schema import bare_schema
from turnwise.messages.read_back import read_back
from turnwise.messages.wire import decode_tool, encode_tool


class Refund(ToolMessage):
    request: str = "refund"
    amount: Annotated[int, Field(le=100)]
    note: str = ""

    @field_validator("amount", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        return int(value.removeprefix("$"))

    @field_validator("amount")
    @classmethod
    def _in_cents(cls, value: int) -> int:
        return value * 100

    @field_validator("note", mode="plain")
    @classmethod
    def _dear(cls, value: Any) -> str:
        return f"Dear {value}"


Word = Annotated[
    str,
    BeforeValidator(lambda value: f"b{value}"),
    AfterValidator(lambda value: f"{value}a"),
    WrapValidator(lambda value, read: f"w{read(value)}"),
]


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, str_to_upper=True)

    sender: str = Field(alias="from")
    due: date | None = None
    cents: int = 0
    inner: Item | None = None
    _seen: int = PrivateAttr(default=3)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        return self.cents * 2

    @model_validator(mode="after")
    def _counted(self) -> Item:
        self.cents += 1
        return self


class Order(ToolMessage):
    model_config = ConfigDict(extra="allow")

    request: str = "order"
    receiver: str = Field(alias="to", validation_alias="TO")
    item: Item
    items: dict[str, list[Item]] = Field(default_factory=dict)
    words: list[Word] = Field(default_factory=list, max_length=1)
    folder: Path = Path("/tmp")

    @model_validator(mode="before")
    @classmethod
    def _given(cls, data: Any) -> Any:
        return {**data, "TO": data["TO"] + "!"}


def same_over_the_wire(tool: ToolMessage) -> ToolMessage:
    return decode_tool(json.loads(json.dumps(encode_tool(tool))), {tool.request: type(tool)})


def test_a_tool_is_read_as_it_was_written_without_its_validators() -> None:
    tool = Refund.model_validate({"amount": "$5", "note": "Bob"})

    read = same_over_the_wire(same_over_the_wire(tool))

    assert read == tool
    assert (getattr(read, "amount", 0), getattr(read, "note", "")) == (500, "Dear Bob")


def test_aliases_constraints_and_validators_of_nested_models_do_not_count_either() -> None:
    item = {"from": "bob", "due": date(2024, 1, 1), "inner": {"from": "al"}}
    tool: Any = Order.model_validate({"TO": "eve", "item": item, "items": {"x": [item]}, "words": ["o"], "more": 1})
    tool.words.append("second")

    read: Any = same_over_the_wire(tool)

    assert read == tool
    assert (read.receiver, read.words[0], read.more, read.folder) == ("eve!", "wboa", 1, Path("/tmp"))
    assert (type(read.item), read.item.due, read.item._seen) == (Item, date(2024, 1, 1), 3)
    assert (read.item.cents, read.item.inner.sender) == (tool.item.cents, "AL")


def test_a_model_in_an_extra_field_is_read_without_its_validators() -> None:
    result = ResultTool(item=Item.model_validate({"from": "bob"}))

    assert same_over_the_wire(result) == result


class Counted(ToolMessage):
    request: str = "counted"
    number: int
    inner: Counted | None = None
    _next: int = PrivateAttr(default=0)

    def model_post_init(self, context: Any) -> None:
        self.number += 1
        self._next = self.number + 1


def test_private_attributes_are_set_and_fields_stay_as_they_are() -> None:
    tool = Counted(number=1, inner=Counted(number=5))

    read: Any = same_over_the_wire(tool)

    assert (read.number, read.inner.number) == (2, 6)
    assert read._next == 4


class Timed(BaseModel):
    seconds: int
    label: str = ""

    @field_serializer("seconds")
    def _in_ms(self, seconds: int) -> str:
        return f"{seconds * 1000} ms"

    @field_validator("seconds", mode="before")
    @classmethod
    def _from_ms(cls, value: Any) -> Any:
        return int(value.removesuffix(" ms")) // 1000 if isinstance(value, str) else value

    @field_validator("label")
    @classmethod
    def _marked(cls, value: str) -> str:
        return f"*{value}"


def test_a_validator_that_undoes_a_serializer_still_does() -> None:
    timed = Timed(seconds=2, label="x")

    read = read_back(Timed, timed.model_dump(mode="json"), serialized=True)

    assert (read.seconds, read.label) == (2, "*x")


class Named(BaseModel):
    model_config = ConfigDict(serialize_by_alias=True)

    first: str = Field(default="", alias="second")
    second: str = Field(default="", alias="first")


def test_a_model_that_is_written_by_alias_is_read_by_alias() -> None:
    named = Named(second="1", first="2")

    assert read_back(Named, named.model_dump(mode="json"), serialized=True) == named


def test_fields_that_do_not_fit_are_an_error_of_the_class_that_names_them() -> None:
    with pytest.raises(ValidationError, match=r"(?s)Refund.*amount\n  Field required"):
        decode_tool({"$tool": "refund", "request": "refund"}, {"refund": Refund})


class Renamed(ToolMessage):
    request: str = "renamed"
    new: int = Field(le=5)

    @model_validator(mode="before")
    @classmethod
    def _old_name(cls, data: dict[str, Any]) -> dict[str, Any]:
        return {"new": data["old"], **data} if "old" in data else data


def test_a_class_may_read_the_fields_of_its_older_form() -> None:
    read: Any = decode_tool({"$tool": "renamed", "request": "renamed", "old": 3}, {"renamed": Renamed})

    assert read.new == 3


class Plain(ToolMessage):
    request: str = "plain"
    numbers: list[int]
    when: date | None = None
    extra: dict[str, Any] = Field(default_factory=dict)


def test_a_class_that_only_converts_is_read_by_its_own_validator() -> None:
    assert bare_schema(Plain, serialized=False) is None
    assert bare_schema(ResultTool, serialized=False) is None
    assert bare_schema(Refund, serialized=False) is not None


class Keeper(ChatAgent):
    class State(BaseModel):
        who: str = Field(default="", alias="from")
        total: float = Field(default=0, le=2)

        @field_validator("total", mode="before")
        @classmethod
        def _doubled(cls, value: float) -> float:
            return value * 2


def test_a_state_keeps_fields_with_an_alias_and_is_not_validated_again() -> None:
    agent, other = Keeper(), Keeper()
    agent.state.who, agent.state.total = "bob", 3.0

    other.load_state(json.loads(json.dumps(agent.dump_state())))

    assert other.state == agent.state
