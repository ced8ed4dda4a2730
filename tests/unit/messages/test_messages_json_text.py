"""JSON objects in prose."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import json_repair
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.messages import json_text
from turnwise.messages.json_text import json_objects, located_json_objects


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no objects", []),
        ('{"a": 1}', [{"a": 1}]),
        ('first {"a": 1}, then {"b": {"c": 2}}.', [{"a": 1}, {"b": {"c": 2}}]),
        ('```json\n{"a": "line\nbreak"}\n```', [{"a": "line\nbreak"}]),
        ('{"a": "}{ \\" }"}', [{"a": '}{ " }'}]),
        ("{'a': 'b', 'c': None, 'd': True,}", [{"a": "b", "c": None, "d": True}]),
        ('{"a": 1, "b": [1, 2,],}', [{"a": 1, "b": [1, 2]}]),
        ('{"a": False}', [{"a": False}]),
        ('open { brace, then {"a": 1}', [{"a": 1}]),
        ('5" wide { then {"a": 1}', [{"a": 1}]),
        ("{ " * 100 + '{"a": 1}', [{"a": 1}]),
        ("} {", []),
        ("[1, 2]", []),
        ('[{"a": 1}, {"b": 2}]', [{"a": 1}, {"b": 2}]),
        ("{1, 2}", []),
        ("{}", [{}]),
        ("{{}}", []),
        ("{[0, 1]}", []),
        ('{"a": "b": "c"} {{"request": "sq", "n": 3}}', [{"a": 'b": "c'}, {"request": "sq", "n": 3}]),
        ('{"t": """```json[\n1```"}', []),
        ("{'a': 'it\\'s \"so\"', \"b\": true, 'c': [None,],}", [{"a": 'it\'s "so"', "b": True, "c": [None]}]),
        ("{\"a\": 'b\nc', }", [{"a": "b\nc"}]),
    ],
)
def test_objects_at_the_top_level_are_found_and_near_json_is_repaired(
    text: str, expected: list[dict[str, Any]]
) -> None:
    assert json_objects(text) == expected


def test_each_object_comes_with_its_place() -> None:
    text = 'say {"a": 1} and {"b": 2}!'
    assert [text[start:end] for _, start, end in located_json_objects(text)] == ['{"a": 1}', '{"b": 2}']


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=5), values, max_size=4)
prose = st.text(alphabet="abc ,.:[]}\n'\"\\", max_size=20)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.tuples(prose, objects), max_size=4), prose)
def test_valid_objects_are_found_in_any_prose_without_open_braces(
    parts: list[tuple[str, dict[str, Any]]], end: str
) -> None:
    text = "".join(before + json.dumps(item) for before, item in parts) + end
    assert json_objects(text) == [item for _, item in parts]


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.text(alphabet="{}[]\"'\\:,a1 \n", max_size=60))
def test_no_text_is_an_error_and_what_is_found_is_json(text: str) -> None:
    found = located_json_objects(text)
    json.dumps([value for value, _, _ in found])
    assert all(text[start] == "{" and text[end - 1] == "}" for _, start, end in found)
    assert all(before[2] <= after[1] for before, after in pairwise(found))


class CountedRepair:
    """Counts the characters that are given to the library that guesses, and that it looks at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.attempts, self.characters, self.looks = 0, 0, 0
        monkeypatch.setattr(json_text._MeteredText, "__getitem__", self._looking(json_text._MeteredText.__getitem__))
        monkeypatch.setattr(json_repair, "repair_json", self._repairing(json_repair.repair_json))

    def _looking(self, inner: Any) -> Any:
        def look(text: str, key: Any) -> str:
            found: str = inner(text, key)
            self.looks += len(found)
            return found

        return look

    def _repairing(self, inner: Any) -> Any:
        def repair(text: str, **given: Any) -> Any:
            self.attempts += 1
            self.characters += len(text)
            return inner(text, **given)

        return repair


HARD = [
    ('{"a":[', 'x"y', "]}"),
    ('{"a":{', 'x"y', '"}'),
    ('{"a":', "(", "}"),
    ('{"request":"sq","n":1', ",", "}"),
    ('{"n":', "9", "}"),
    ("", "{(} ", ""),
    ("", '{a: "x"y" } ', ""),
]


@pytest.mark.parametrize(("start", "piece", "end"), HARD)
def test_what_is_guessed_at_is_bounded_however_long_a_text_is(
    start: str, piece: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = CountedRepair(monkeypatch)
    for length in (4_000, 16_000, 64_000):
        before = counted.looks, counted.characters, counted.attempts
        json_objects(start + piece * (length // len(piece)) + end)
        assert counted.looks - before[0] <= json_text._MOST_LOOKS
        assert counted.characters - before[1] <= json_text._MOST_LOOKS
        assert counted.attempts - before[2] <= json_text._MOST_LOOKS / json_text._ATTEMPT_LOOKS


def test_an_honest_object_is_repaired_also_after_code_and_where_it_is_long() -> None:
    code = "if (a) { return b + 1; }\n" * 100
    tool = '{"request": "write" "text": "' + "He said, go on. " * 1000 + '", "mark": "x"}'
    found = json_objects(code + tool)
    assert found[-1] == {"request": "write", "text": "He said, go on. " * 1000, "mark": "x"}


def test_plain_mistakes_are_repaired_at_any_length() -> None:
    items = [{"a": str(number), "b": None, "c": [True]} for number in range(20_000)]
    assert json_objects(f"say {{'items': {items}, }} now") == [{"items": items}]


class ErrorsOfWholeTexts(json.JSONDecodeError):
    """An error of the reader that counts the characters before it, as its class does for the number of the line."""

    counted = 0

    def __init__(self, message: str, text: str, at: int) -> None:
        type(self).counted += at
        super().__init__(message, text, at)


@pytest.mark.parametrize("piece", ["{'a': 1} ", "{x} ", "{(} "])
def test_errors_of_many_objects_cost_in_proportion_to_the_length_of_a_text(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json.decoder, "JSONDecodeError", ErrorsOfWholeTexts)
    monkeypatch.setattr(ErrorsOfWholeTexts, "counted", 0)
    text = piece * 2000
    json_objects(text)
    assert 0 < ErrorsOfWholeTexts.counted <= 3 * len(text)


@pytest.mark.parametrize("fault", [AssertionError(), IndexError("x"), RecursionError(), MemoryError(), KeyError("x")])
def test_whatever_the_library_that_guesses_raises_the_text_is_prose(
    fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise fault

    monkeypatch.setattr(json_repair, "repair_json", failing)
    assert json_objects('{"a" 1} and {"b": 2}') == [{"b": 2}]


@settings(deadline=None, derandomize=True, max_examples=1_000)
@given(
    st.text(alphabet="{}[]()\"'`,:01ab \n", max_size=40),
    st.sampled_from(["", "{", '{"a": ', "{{", "{'a': [", '{"t": """```json']),
)
def test_reading_never_raises(text: str, start: str) -> None:
    for written in (start + text, start + text + "}", start + text + "]}}"):
        json.dumps(json_objects(written))


@pytest.mark.parametrize("piece", ['{"a":', "{'a': ", '{"a": ['])
@pytest.mark.parametrize("closed", [True, False])
def test_objects_nested_deeper_than_can_be_read_are_prose(piece: str, closed: bool) -> None:
    end = "".join({"{": "}", "[": "]"}[char] for char in reversed(piece * 5000) if char in "{[")
    assert json_objects(piece * 5000 + "1" + (end if closed else "")) == []


class CountingText(str):
    """A text that counts how often one of its characters is looked at."""

    looks = 0

    def __getitem__(self, key: Any) -> str:
        self.looks += 1
        return super().__getitem__(key)


@pytest.mark.parametrize("piece", ["{", '{"a":', "{ x ", '{ "', '{"\\" ', '{"a": 1} {', '{ "{" \\" '])
def test_time_is_in_proportion_to_the_length_of_a_text_of_open_braces(piece: str) -> None:
    # given texts of which one is four times as long as the other
    short, long = CountingText(piece * 500), CountingText(piece * 2000)
    # when both are searched
    json_objects(short)
    json_objects(long)
    # then the work is four times as much, not sixteen times
    assert long.looks <= 5 * short.looks + 100
    assert long.looks <= (json_text._MAX_VAIN_SCANS + 2) * len(long)
