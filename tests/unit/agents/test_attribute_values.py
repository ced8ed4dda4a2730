"""Values of attributes as JSON and back: the same type, the same value, and the same things shared."""

from __future__ import annotations

import json
import math
import re
import sys
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import (
    AfterValidator,
    AnyUrl,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    TypeAdapter,
    create_model,
    field_validator,
)

from turnwise import ChatDocMetaData, ChatDocument, Entity, ToolMessage
from turnwise.agents.attributes import saving
from turnwise.agents.attributes.decoding import UNREADABLE, Decoder
from turnwise.agents.attributes.encoding import Encoder, NotDataError
from turnwise.agents.attributes.fingerprint import fingerprint
from turnwise.agents.attributes.holder import Holder
from turnwise.agents.attributes.template import Template
from turnwise.errors import AttributeNotSavedError


class Colour(Enum):
    RED = "red"
    BLUE = object()


class Level(IntEnum):
    LOW = 1


class Right(Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: Any = None


@dataclass
class Step:
    what: str
    done: bool = False
    more: list[Step] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Frozen:
    n: int


class Item(BaseModel):
    name: str
    price: Decimal = Decimal("0.10")
    tags: set[str] = set()
    inner: Any = None
    _seen: int = PrivateAttr(default=0)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    n: int = Field(1, alias="number")


class Hashed(BaseModel):
    password: str

    @field_validator("password")
    @classmethod
    def _hash(cls, given: str) -> str:
        return f"hash of {given}"


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square."
    n: int = 1


def helper() -> None:
    """A function at the top of a module."""


class Owner:
    def method(self) -> str:
        return "mine"


def _through(values: dict[str, Any], owner: Any = None, tools: Any = None) -> dict[str, Any]:
    """The values written to text, and read by another."""
    encoder, owner = Encoder(owner, {}, tools or {}, {}), owner or Owner()
    text = json.dumps({name: encoder.attribute(name, value) for name, value in sorted(values.items())})
    decoder = Decoder(owner, {}, tools or {}, {})
    return {name: decoder.attribute(name, kept) for name, kept in json.loads(text).items()}


_PARIS = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Paris"), fold=1)
_PLAIN: list[Any] = [
    None,
    True,
    0,
    -5,
    10**400,
    1.5,
    math.inf,
    "text",
    "",
    b"\x00\xff",
    bytearray(b"ab"),
    2 + 3j,
    range(1, 9, 2),
    [1, [2, [3]]],
    {"a": {"b": [None]}},
    {"$tool": "data, not a mark"},
    {"$dict": [[1, 2]]},
    {1: "one", (2, 3): "two", None: 0},
    (1, (2,), []),
    {1, 2, 3},
    {"b", "a"},
    {(1, "a"), (0, "b"), "c"},
    frozenset({Frozen(1), Frozen(2)}),
    deque([1, 2], maxlen=3),
    OrderedDict(b=1, a=2),
    Counter("hello"),
    defaultdict(list, {"a": [1]}),
    datetime(2026, 1, 2, 3, 4, 5, 6),
    datetime(2026, 1, 2, tzinfo=UTC),
    datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=2), "mine")),
    _PARIS,
    date(2026, 1, 2),
    time(1, 2, 3),
    timedelta(days=-1, microseconds=5),
    timezone(timedelta(minutes=30)),
    ZoneInfo("Europe/Paris"),
    Decimal("1.10"),
    Fraction(1, 3),
    UUID(int=7),
    Path("/tmp/x"),
    PurePosixPath("a/b"),
    re.compile("a+", re.IGNORECASE),
    SecretStr("key"),
    Colour.BLUE,
    Level.LOW,
    Right.READ | Right.WRITE,
    Point(1, [2]),
    Step("a", more=[Step("b", done=True)]),
    Frozen(3),
    Item(name="x", tags={"a"}, inner=Step("c")),
    Open.model_validate({"number": 2, "other": [1]}),
    Open(),
    AnyUrl("https://example.org/a"),
    Square(n=3),
    Item,
    list,
    helper,
]


@pytest.mark.parametrize("value", _PLAIN, ids=[f"{no}-{type(value).__name__}" for no, value in enumerate(_PLAIN)])
def test_a_value_comes_back_as_what_it_was(value: Any) -> None:
    back = _through({"it": value})["it"]

    assert type(back) is type(value)
    assert back == value
    if not isinstance(value, set | frozenset):  # which have no order
        assert repr(back) == repr(value)


def test_not_a_number_comes_back() -> None:
    assert math.isnan(_through({"it": math.nan})["it"])


def test_a_time_keeps_its_zone_and_which_of_two_it_is() -> None:
    back = _through({"it": _PARIS})["it"]

    assert (back.tzinfo, back.fold, back.utcoffset()) == (_PARIS.tzinfo, 1, timedelta(hours=1))


def test_a_model_comes_back_without_being_validated_again() -> None:
    item = Item(name="x")
    item._seen = 4
    item.price = "not a number"  # type: ignore[assignment]

    back = _through({"a": item, "b": Hashed(password="p")})

    assert (back["a"]._seen, back["a"].price, back["a"].model_fields_set) == (4, "not a number", {"name", "price"})
    assert back["b"].password == "hash of p"


def test_a_document_comes_back_with_its_tools_and_marks() -> None:
    metadata = ChatDocMetaData(source=Entity.USER, sender=Entity.USER, tainted=True)
    document = ChatDocument(content="hello", tool_messages=[Square(n=2)], metadata=metadata)

    back = _through({"it": document}, tools={"square": Square})["it"]

    assert (back.content, back.tool_messages, back.metadata.tainted) == ("hello", [Square(n=2)], True)
    assert back.metadata.id == document.metadata.id


def test_a_tool_of_the_application_is_found_by_its_name() -> None:
    class Local(ToolMessage):
        request: str = "local"
        purpose: str = "To show."

    back = _through({"it": Local(), "kind": Local}, tools={"local": Local})

    assert isinstance(back["it"], Local)
    assert back["kind"] is Local


def test_what_two_places_share_is_shared_again() -> None:
    item, shared = Item(name="x"), [1]
    circle: list[Any] = [shared]
    circle.append(circle)

    back = _through({"circle": circle, "current": item, "items": [item, {"in": shared}], "tup": (item, shared)})

    assert back["current"] is back["items"][0] is back["tup"][0]
    assert back["circle"][0] is back["items"][1]["in"] is back["tup"][1]
    assert back["circle"][1] is back["circle"]


def test_what_is_shared_within_a_set_is_shared_again() -> None:
    ones = [Frozen(n) for n in range(20)]

    back = _through({"all": set(ones), "some": ones[3:5]})

    assert all(any(one is other for other in back["all"]) for one in back["some"])


class Connection:
    def __init__(self, to: str) -> None:
        self.to = to

    def __repr__(self) -> str:
        return "a connection"


class Switch:
    def __init__(self) -> None:
        host = "https://a-very-long-name-of-a-host.example.org/"
        self.by_name = OrderedDict((f"{host}{name}", Connection(name)) for name in "ab")
        self.by_object = {Connection(name): Connection(name) for name in "cd"}


def test_each_thing_that_the_factory_made_is_found_under_its_own_key() -> None:
    made = Switch()
    template = Template(made, frozenset(), {})
    decoder = Decoder(made, template.objects, {}, template.classes)

    by_name = decoder.attribute("by_name", json.loads(json.dumps(template.pristine["by_name"])))
    by_object = decoder.attribute("by_object", json.loads(json.dumps(template.pristine["by_object"])))

    assert [one.to for one in by_name.values()] == ["a", "b"]
    assert [(key.to, one.to) for key, one in by_object.items()] == [("c", "c"), ("d", "d")]


def test_a_method_of_the_owner_is_its_method_again() -> None:
    one, other = Owner(), Owner()
    kept = Encoder(one, {}, {}, {}).attribute("it", one.method)

    assert Decoder(other, {}, {}, {}).attribute("it", kept).__self__ is other


class Cart:
    def __init__(self) -> None:
        self.items: list[str] = []


def _local() -> Any:
    @dataclass
    class Here:
        n: int = 1

    return Here()


@pytest.mark.parametrize(
    ("value", "place", "reason"),
    [
        (threading.Lock(), "it", ""),
        ({"a": [1, threading.Lock()]}, "it['a'][1]", ""),
        (Item(name="x", inner=lambda: 1), "it.inner", ""),
        (Owner().method, "it", ""),
        (ValueError("x"), "it", ""),
        (iter([1]), "it", ""),
        (_local(), "it", "define it at the top of a module"),
        (partial(helper), "it", ""),
        ([Cart()], "it[0]", "make its class a dataclass"),
    ],
    ids=["lock", "within", "model", "method", "error", "iterator", "local", "partial", "object"],
)
def test_what_cannot_be_kept_is_named_with_its_place(value: Any, place: str, reason: str) -> None:
    with pytest.raises(NotDataError) as refused:
        Encoder(None, {}, {}, {}).attribute("it", value)

    assert refused.value.place == place
    assert reason in refused.value.reason


def test_what_is_nested_too_deep_cannot_be_kept() -> None:
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]

    with pytest.raises(NotDataError) as refused:
        Encoder(None, {}, {}, {}).attribute("it", deep)

    assert "deeper than 64 levels" in refused.value.reason


_HERE = __name__


@pytest.mark.parametrize(
    "kept",
    [
        {"$url": ["os:system", "exit 3"]},
        {"$url": ["subprocess:getoutput", "exit 3"]},
        {"$flag": ["os:_exit", 3]},
        {"$flag": [f"{_HERE}:Item", 1]},
        {"$enum": [f"{_HERE}:helper", "x"]},
        {"$named": [f"{_HERE}:Item", []]},
        {"$named": ["builtins:tuple", [1]]},
        {"$model": ["subprocess:Popen", {"fields": {}, "set": [], "form": 1}]},
        {"$model": [f"{_HERE}:Step", {"fields": {}, "set": [], "form": 1}]},
        {"$dataclass": ["subprocess:Popen", {"args": "exit 3"}, 1]},
        {"$dataclass": [f"{_HERE}:Step", {"__class__": {"$code": f"{_HERE}:Owner"}}, 0]},
        {"$code": "os:system"},
        {"$code": "os:sys.exit"},
        {"$code": f"{_HERE}:json.dumps"},
        {"$code": f"{_HERE}:_PLAIN"},
        {"$defaultdict": [{"$code": "os:abort"}, []]},
        {"$defaultdict": [5, []]},
        {"$method": "__class__"},
        {"$code": "antigravity:webbrowser.open"},
    ],
    ids=lambda kept: "-".join(str(part)[:40] for part in (*kept, *kept.values())),
)
def test_a_forged_value_calls_nothing_and_imports_nothing(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr("os.system", called.append)
    monkeypatch.setattr("os._exit", called.append)

    with pytest.raises(UNREADABLE):
        Decoder(Owner(), {}, {}, {}).attribute("it", kept)

    assert called == []
    assert "antigravity" not in sys.modules


def test_a_class_of_the_agents_own_package_is_imported_when_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "shop_of_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "agents.py").write_text("class Clerk: ...\n")
    (package / "items.py").write_text("class Item: ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    clerk = import_module("shop_of_test.agents").Clerk()
    kept = {"$code": "shop_of_test.items:Item"}

    with pytest.raises(LookupError, match="import it at the top"):
        Decoder(Owner(), {}, {}, {}).attribute("it", kept)
    assert Decoder(clerk, {}, {}, {}).attribute("it", kept).__qualname__ == "Item"


class Version1(BaseModel):
    name: str
    gone: int = 0


class Version2(BaseModel):
    name: str
    new: str = "default"


class Version3(BaseModel):
    name: str
    needed: int


@pytest.mark.parametrize("now", [Version2, Version3])
def test_a_model_whose_fields_have_changed_is_validated(now: type[BaseModel]) -> None:
    kept = Encoder(None, {}, {}, {}).attribute("it", Version1(name="x"))
    place = kept["$model"][0]
    decoder = Decoder(None, {}, {}, {place: now})

    if now is Version2:
        assert decoder.attribute("it", kept) == Version2(name="x")
    else:
        with pytest.raises(ValueError, match="needed"):
            decoder.attribute("it", kept)


class Private1(BaseModel):
    name: str
    _seen: list[int] = PrivateAttr(default_factory=list)
    _gone: int = 1


class Private2(BaseModel):
    name: str
    more: int = 0
    _seen: list[int] = PrivateAttr(default_factory=list)
    _new: int = 2


def test_a_model_whose_fields_have_changed_keeps_the_private_attributes_that_it_still_has() -> None:
    item = Private1(name="x")
    item._seen.append(5)
    kept = Encoder(None, {}, {}, {}).attribute("it", item)

    back = Decoder(None, {}, {}, {kept["$model"][0]: Private2}).attribute("it", kept)

    assert (back._seen, back._new, back.__pydantic_private__.keys()) == ([5], 2, {"_seen", "_new"})


def _with_validator(more: Any = None) -> type[BaseModel]:
    """As each process defines it, with functions at addresses of its own."""
    fields: dict[str, Any] = {
        "numbers": (list[Annotated[int, AfterValidator(lambda n: n + 1)]], []),
        "colour": (Literal[Colour.BLUE, "none"] | None, None),
        "call": (Callable[[int, "Item"], str] | None, None),
        **({"more": more} if more else {}),
    }
    return create_model("WithValidator", **fields)


def test_a_class_is_the_same_in_processes_that_have_its_functions_at_other_addresses() -> None:
    assert fingerprint(_with_validator()) == fingerprint(_with_validator())
    assert fingerprint(_with_validator((int, 1))) != fingerprint(_with_validator((str, "1")))


class Compared:
    def __init__(self) -> None:
        self.n = 0


@dataclass(eq=False)
class ByIdentity:
    n: int = 0


def _class_of(**values: Any) -> tuple[Any, Template]:
    kind = type("Holding", (Holder,), values)
    made = kind()
    made._template = None
    return kind, Template(made, frozenset({"_template"}), {})


def test_a_class_may_hold_a_list_of_plain_objects() -> None:
    one = Compared()
    kind, template = _class_of(items=[one])

    assert saving.found(template.made, template) == {}
    assert kind.items == [one]


@pytest.mark.parametrize(
    ("values", "change"),
    [
        (lambda: {"items": {"a": [1]}}, lambda items: items["a"].append(2)),
        (lambda: {"items": [ByIdentity()]}, lambda items: setattr(items[0], "n", items[0].n + 1)),
        (lambda: {"items": [[1]]}, lambda items: items[0].append(Compared())),
    ],
    ids=["nested", "by-identity", "object"],
)
def test_each_change_of_what_a_class_holds_is_noticed(values: Any, change: Any) -> None:
    kind, template = _class_of(**values())
    before = repr(kind.items)

    for _ in range(3):
        assert saving.found(template.made, template) == {}
        change(kind.items)
        with pytest.raises(AttributeNotSavedError, match=r"Holding\.items was changed"):
            saving.found(template.made, template)
        assert repr(kind.items) == before


def test_a_large_table_of_a_class_is_not_compared() -> None:
    _, template = _class_of(table={str(n): [n] for n in range(10_000)}, small=[1])

    assert [held.name for held in template.class_values] == ["small"]


@pytest.mark.parametrize("text", ["2026-01-02T10:00:00Z", "2026-01-02T10:00:00+05:30", "2026-01-02T10:00:00-00:30"])
def test_an_offset_as_pydantic_reads_it_comes_back_as_a_timezone(text: str) -> None:
    moment = TypeAdapter(datetime).validate_python(text)

    back = Decoder(None, {}, {}, {}).attribute("it", Encoder(None, {}, {}, {}).attribute("it", moment))

    assert back == moment
    assert type(back.tzinfo) is timezone
    assert back.utcoffset() == moment.utcoffset()
