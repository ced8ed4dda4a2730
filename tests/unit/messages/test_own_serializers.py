"""Models with serializers of their own, fields left out, and types with a written form: a tool is read as it was."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import (
    Base64Bytes,
    Base64Str,
    BaseModel,
    Field,
    Json,
    PlainSerializer,
    RootModel,
    field_serializer,
    model_serializer,
    model_validator,
)
from pydantic_core import core_schema

from turnwise import ToolMessage
from turnwise.messages.wire import decode_tool, decode_value, encode_tool, encode_value


class Price(BaseModel):
    amount: float
    token: str = Field("", exclude=True)

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


class Secret(BaseModel):
    key: str = Field(exclude=True)


class Rounded(RootModel[list[Annotated[float, PlainSerializer(lambda value: round(value))]]]):
    pass


class Order(BaseModel):
    prices: list[Price]
    note: Any = None


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
    secret: Secret | None = None
    rounded: Rounded | None = None
    order: Order | None = None
    undone: Undone | None = None
    anything: Any = None
    length: Length | None = None
    data: Base64Bytes = b""
    texts: list[Base64Str] = Field(default_factory=list)
    parsed: Json[dict[str, int]] | None = None
    open: Json[Any] | None = None


@pytest.mark.parametrize(
    "fields",
    [
        {"price": Price(amount=1.26, token="t-1")},
        {"day": Day(when=date(2024, 1, 2))},
        {"wrapped": Wrapped(value=3)},
        {"secret": Secret(key="k")},
        {"rounded": Rounded([1.26, 2.5])},
        {"order": Order(prices=[Price(amount=1.26, token="t-1")], note=Price(amount=2.25))},
        {"undone": Undone(cents=126)},
        {"anything": [Price(amount=1.26, token="t-1")]},
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
    price = Price(amount=1.26, token="t-1")
    assert decode_value(encode_value(price, "result", named=True), {}) == price


def test_a_model_that_would_change_and_that_no_other_process_finds_is_refused_by_name() -> None:
    class Here(Price):
        pass

    with pytest.raises(TypeError, match=r"result holds a Here, whose serializers or left out fields change it"):
        encode_value(Here(amount=1.26), "result")
    assert encode_value(Here(amount=1.5), "result") == {"amount": 1.5}


def test_a_field_without_a_written_form_is_still_refused_by_name() -> None:
    class Odd(ToolMessage):
        request: str = "odd"
        thing: Any = None

    with pytest.raises(TypeError, match=r"odd\.thing holds a Decoder"):
        encode_tool(Odd(thing=json.JSONDecoder.__new__(type("Decoder", (), {}))))


def test_a_decimal_of_a_state_like_model_keeps_its_places() -> None:
    class Total(BaseModel):
        total: Annotated[Decimal, PlainSerializer(lambda value: f"{value:.2f}", return_type=str)] = Decimal(0)

    with pytest.raises(TypeError, match="Total"):
        encode_value(Total(total=Decimal("0.004")), "state")
