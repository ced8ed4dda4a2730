"""Calls of a streamed answer, from servers that number their pieces and from those that do not."""

from __future__ import annotations

from typing import Any

import pytest

from turnwise.errors import ModelUnavailableError
from turnwise.models.openai.stream import StreamAssembler
from turnwise.models.openai.wire import parse_completion

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


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "Of France."}]}
SAID = {"type": "text", "text": "Paris"}


@pytest.mark.parametrize("streamed", [False, True])
def test_a_text_that_comes_in_parts_is_told_from_the_thoughts_before_it(streamed: bool) -> None:
    content: Any = [THOUGHT, SAID, {"type": "reference", "reference_ids": [1]}]
    body: Any = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    if streamed:
        assembler = StreamAssembler()
        pieces = [
            assembler.feed({"choices": [{"delta": {"content": given}}]}) for given in ([THOUGHT], [SAID], " it is.")
        ]
        assembler.feed({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        body = assembler.completion()
        assert [text for made in pieces for text, _ in made] == ["Of France.", "Paris", " it is."]
    response = parse_completion(body)
    assert (response.message, response.reasoning) == ("Paris it is." if streamed else "Paris", "Of France.")


@pytest.mark.parametrize(
    "delta", [{"content": 3}, {"content": [3]}, {"reasoning": 3}, {"tool_calls": [{"index": "x"}]}]
)
def test_what_is_no_piece_of_an_answer_is_told_as_the_servers_fault(delta: Any) -> None:
    with pytest.raises(ModelUnavailableError, match="not a chunk of a chat completion"):
        StreamAssembler().feed({"choices": [{"delta": delta}]})
