"""Calls of a streamed answer, from servers that number their pieces and from those that do not."""

from __future__ import annotations

from typing import Any

import pytest

from turnwise.models.openai.stream import StreamAssembler

PARIS, TWO = '{"city":"Paris"}', '{"id":2}'
Piece = dict[str, Any]


def piece(index: int | None, name: str = "", arguments: str = "", id: str | None = None) -> Piece:
    made: Piece = {"function": {"name": name, "arguments": arguments}}
    return made | {key: value for key, value in (("index", index), ("id", id)) if value is not None}


def calls(*deltas: list[Piece]) -> list[tuple[str | None, str, str]]:
    assembler = StreamAssembler()
    for pieces in deltas:
        assembler.feed({"choices": [{"delta": {"tool_calls": pieces}}]})
    assembler.feed({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    made = assembler.completion()["choices"][0]["message"]["tool_calls"]
    return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in made]


TWO_CALLS = [("a", "search", PARIS), ("b", "look_up", TWO)]


@pytest.mark.parametrize(
    "deltas",
    [
        pytest.param(
            [
                [piece(0, "search", "", "a")],
                [piece(1, "look_up", "", "b")],
                [piece(0, arguments=PARIS[:5])],
                [piece(1, arguments=TWO)],
                [piece(0, arguments=PARIS[5:])],
            ],
            id="numbered and interleaved",
        ),
        pytest.param([[piece(1, "look_up", TWO, "b")], [piece(0, "search", PARIS, "a")]], id="in another order"),
        pytest.param([[piece(0, "search", PARIS, "a")], [piece(0, "look_up", TWO, "b")]], id="of one index"),
        pytest.param([[piece(0, "search", PARIS, "a"), piece(0, "look_up", TWO, "b")]], id="of one index, together"),
        pytest.param([[piece(None, "search", PARIS, "a")], [piece(None, "look_up", TWO, "b")]], id="without index"),
        pytest.param([[piece(None, "search", PARIS, "a"), piece(None, "look_up", TWO, "b")]], id="without, together"),
        pytest.param(
            [
                [piece(None, "search", PARIS[:5], "a")],
                [piece(None, arguments=PARIS[5:])],
                [piece(None, "look_up", TWO[:3], "b")],
                [piece(None, arguments=TWO[3:])],
            ],
            id="without index, in pieces",
        ),
        pytest.param(
            [
                [piece(0, "search", PARIS[:5], "a")],
                [piece(0, "search", PARIS[5:], "a")],
                [piece(1, "look_up", TWO, "b")],
            ],
            id="with the name and the id in each piece",
        ),
        pytest.param(
            [
                [piece(0, "search", PARIS[:5], "a")],
                [piece(0, "", PARIS[5:], "a2")],
                [piece(1, "look_up", TWO, "b")],
            ],
            id="with another id in each piece",
        ),
    ],
)
def test_each_call_is_put_together_by_itself(deltas: list[list[Piece]]) -> None:
    assert calls(*deltas) == TWO_CALLS


def test_calls_without_ids_are_told_apart_by_their_places() -> None:
    assert calls([piece(None, "search", PARIS), piece(None, "look_up", TWO)]) == [
        (None, "search", PARIS),
        (None, "look_up", TWO),
    ]


def test_an_id_may_come_late() -> None:
    assert calls([piece(0, "search", PARIS[:5])], [piece(0, "", PARIS[5:], "a")]) == [("a", "search", PARIS)]
