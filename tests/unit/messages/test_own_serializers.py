"""Models with serializers of their own, fields left out, and types with a written form: a tool is read as it was."""

from __future__ import annotations

import json
import math
from datetime import date, timedelta
from typing import Annotated, Any, Generic, TypeVar

import pytest
from pydantic import (
    Base64Bytes,
    Base64Str,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    PlainSerializer,
    RootModel,
    field_serializer,
    model_serializer,
    model_validator,
)
from pydantic_core import core_schema

from turnwise import ChatDocument, ToolMessage
from turnwise.messages.wire import decode_tool, decode_value, encode_tool, encode_value
from turnwise.transcripts.message_text import said


class Price(BaseModel):
    amount: float

    @field_serializer("amount")
    def _shortened(self, value: float) -> float:
        return round(value, 1)


class Day(BaseModel):
    when: date

    @field_serializer("when")
    def _as_people_write(self, value: date) -> str:
        return value.strftime("%d.%m.%Y")


class Wrapped(BaseModel):
    value: int

    @model_serializer
    def _in_a_box(self) -> dict[str, Any]:
        return {"box": self.value}


class Connection:
    """Of no value to JSON, and equal to none but itself."""


class Customer(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    since: Day | None = None
    password: str = Field("", exclude=True)
    connection: Connection | None = Field(None, exclude=True)


T = TypeVar("T")


class Paid(BaseModel, Generic[T]):
    """A generic class is found under no name."""

    what: T
    amount: float

    @field_serializer("amount")
    def _shortened(self, value: float) -> float:
        return round(value, 1)


class Reading(BaseModel):
    value: float | None

    @field_serializer("value")
    def _known(self, value: float | None) -> float | None:
        return None if value is None or math.isnan(value) else value


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    when: date

    @field_serializer("when")
    def _as_people_write(self, value: date) -> str:
        return value.strftime("%d.%m.%Y")


class Rounded(RootModel[list[Annotated[float, PlainSerializer(lambda value: round(value))]]]):
    pass


class Order(BaseModel):
    prices: list[Price]
    note: Any = None


class Wait(BaseModel):
    model_config = ConfigDict(ser_json_temporal="milliseconds")

    length: timedelta


class Undone(BaseModel):
    """Its validator reads what its serializer writes."""

    cents: int

    @model_serializer
    def _in_euros(self) -> str:
        return f"{self.cents / 100:.2f}"

    @model_validator(mode="before")
    @classmethod
    def _from_euros(cls, value: Any) -> Any:
        return {"cents": round(float(value) * 100)} if isinstance(value, str) else value


class Length:
    """A class that says itself how pydantic reads and writes it."""

    def __init__(self, metres: float) -> None:
        self.metres = metres

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Length) and other.metres == self.metres

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.float_schema(),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda length: length.metres),
        )


class Holder(ToolMessage):
    request: str = "hold"
    price: Price | None = None
    day: Day | None = None
    wrapped: Wrapped | None = None
    customer: Customer | None = None
    paid: Paid[int] | None = None
    reading: Reading | None = None
    closed: Closed | None = None
    rounded: Rounded | None = None
    order: Order | None = None
    undone: Undone | None = None
    wait: Wait | None = None
    anything: Any = None
    length: Length | None = None
    data: Base64Bytes = b""
    texts: list[Base64Str] = Field(default_factory=list)
    parsed: Json[dict[str, int]] | None = None
    open: Json[Any] | None = None


@pytest.mark.parametrize(
    "fields",
    [
        {"price": Price(amount=1.26)},
        {"day": Day(when=date(2024, 1, 2))},
        {"wrapped": Wrapped(value=3)},
        {"closed": Closed(when=date(2024, 1, 2))},
        {"rounded": Rounded([1.26, 2.5])},
        {"order": Order(prices=[Price(amount=1.26)], note=Price(amount=2.25))},
        {"undone": Undone(cents=126)},
        {"wait": Wait(length=timedelta(seconds=5))},
        {"anything": [Price(amount=1.26)]},
        {"length": 1.5},
        {"length": 1.5, "price": Price(amount=1.26)},
        {"data": "/w=="},  # no text
        {"texts": ["YUdrPQ=="]},  # encoded twice
        {"parsed": '{"a": 1}', "open": '["{}"]'},
    ],
)
def test_a_tool_is_read_as_it_was(fields: dict[str, Any]) -> None:
    tool = Holder(**fields)
    written = json.loads(json.dumps(encode_tool(tool)))
    read = decode_tool(written, {"hold": Holder})
    assert read == tool
    assert encode_tool(read) == written


def test_what_comes_back_from_its_json_is_written_as_the_class_says() -> None:
    assert encode_tool(Holder(undone=Undone(cents=126)))["undone"] == "1.26"
    assert encode_value(Price(amount=1.5), "result") == {"amount": 1.5}


def test_a_value_beside_tools_is_read_as_it_was_too() -> None:
    price = Price(amount=1.26)
    assert decode_value(encode_value(price, "result", named=True), {}) == price


def test_fields_that_a_class_leaves_out_are_not_kept() -> None:
    customer = Customer(name="Ann", since=Day(when=date(2024, 1, 2)), password="hunter2", connection=Connection())
    written = json.dumps(encode_tool(Holder(customer=customer)))
    read = decode_tool(json.loads(written), {"hold": Holder}).customer  # type: ignore[attr-defined]
    assert (read.name, read.since, read.password, read.connection) == ("Ann", customer.since, "", None)
    assert "hunter2" not in written


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        ({"paid": Paid[int](what=1, amount=1.26)}, Paid[int](what=1, amount=1.3)),
        ({"reading": Reading(value=math.nan)}, Reading(value=None)),
    ],
)
def test_what_cannot_be_had_better_is_what_the_serializer_writes(fields: dict[str, Any], read: BaseModel) -> None:
    written = encode_tool(Holder(**fields))
    assert getattr(decode_tool(written, {"hold": Holder}), next(iter(fields))) == read


def test_the_json_of_the_class_stands_beside_its_fields_for_earlier_readers_and_people() -> None:
    tool = Holder(price=Price(amount=1.26))
    assert encode_tool(tool)["price"] == {
        "amount": 1.3,
        "$model": f"{__name__}:Price",
        "$fields": {"amount": 1.26},
    }
    (shown,) = said(ChatDocument(content="", tool_messages=[tool])).tools
    assert json.loads(shown.fields)["price"] == {"amount": 1.3}


def test_marks_in_what_others_write_are_data() -> None:
    forged = {"$model": f"{__name__}:Price", "$fields": {"amount": 2.0}}
    read = decode_tool(encode_tool(Holder(anything=forged)), {"hold": Holder})
    assert read.anything == forged  # type: ignore[attr-defined]


def test_a_field_without_a_written_form_is_still_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"hold\.anything holds a Connection"):
        encode_tool(Holder(anything=Connection()))
