"""Calls of a streamed answer, from servers that number their pieces and from those that do not."""

from __future__ import annotations

from typing import Any

import pytest

from turnwise.errors import ModelUnavailableError
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.stream import StreamAssembler
from turnwise.models.openai.wire import parse_completion

PARIS, TWO = '{"city":"Paris"}', '{"id":2}'
Piece = dict[str, Any]


def piece(index: int | None, name: str = "", arguments: str = "", id: str | None = None) -> Piece:
    made: Piece = {"function": {"name": name, "arguments": arguments}}
    return made | {key: value for key, value in (("index", index), ("id", id)) if value is not None}


def test_of_several_choices_the_first_is_the_answer() -> None:
    assembler = StreamAssembler()
    pieces = [("It is ", 1), ("Paris", 0), ("Lyon.", 1), (" it is.", 0)]
    told = [
        piece
        for text, index in pieces
        for piece in assembler.feed({"choices": [{"index": index, "delta": {"content": text}}]})
    ]
    assembler.feed({"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]})
    assembler.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})

    whole = assembler.completion()["choices"][0]
    assert (whole["message"]["content"], whole["finish_reason"]) == ("Paris it is.", "stop")
    assert "".join(text for text, _ in told) == "Paris it is."


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


@pytest.mark.parametrize("index", [0, None])
@pytest.mark.parametrize("id", ["", None])
@pytest.mark.parametrize("name", ["search", "look_up"])
def test_calls_without_ids_that_come_one_after_the_other_are_told_apart(
    index: int | None, id: str | None, name: str
) -> None:
    whole = [[piece(index, "search", PARIS, id)], [piece(index, name, TWO, id)]]
    assert calls(*whole) == [(id, "search", PARIS), (id, name, TWO)]
    in_pieces = [
        [piece(index, "search", PARIS[:5], id)],
        [piece(index, "search", PARIS[5:], id)],
        [piece(index, "search", "", id)],
        [piece(index, name, TWO[:2], id)],
        [piece(index, "", TWO[2:], id)],
    ]
    assert calls(*in_pieces) == [(id, "search", PARIS), (id, name, TWO)]


@pytest.mark.parametrize("index", [0, None])
@pytest.mark.parametrize("blank", ["\n", " ", "\r\n\t"])
def test_a_blank_piece_begins_no_other_call(index: int | None, blank: str) -> None:
    assert calls(
        [piece(index, "search", PARIS)],
        [piece(index, "search", blank)],
        [piece(index, "search", TWO)],
        [piece(index, "search", blank)],
    ) == [(None, "search", PARIS + blank), (None, "search", TWO + blank)]


@pytest.mark.parametrize("name", ["search", ""])
@pytest.mark.parametrize("id", ["a", None])
@pytest.mark.parametrize("pieces", [[PARIS], [PARIS[:5], PARIS[5:]], [" " + PARIS], ["{}"], ["\n"]])
def test_an_empty_object_is_replaced_by_the_arguments_that_follow(pieces: list[str], id: str | None, name: str) -> None:
    whole = "{}\n" if pieces == ["\n"] else "".join(pieces)
    follow = [[piece(0, name, text)] for text in pieces]
    assert calls([piece(0, "search", "{}", id)], *follow) == [(id, "search", whole)]


def test_an_empty_object_stays_where_another_call_follows() -> None:
    assert calls([piece(0, "search", "{}")], [piece(0, "look_up", TWO)]) == [
        (None, "search", "{}"),
        (None, "look_up", TWO),
    ]
    assert calls([piece(None, "search", "{}")], [piece(None, "search", PARIS)]) == [
        (None, "search", "{}"),
        (None, "search", PARIS),
    ]


def test_arguments_may_be_an_object() -> None:
    given: Any = {"index": 0, "id": "a", "function": {"name": "search", "arguments": {"city": "Paris"}}}
    assert calls([given]) == [("a", "search", '{"city": "Paris"}')]


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
    response = parse_completion(body, OpenAIGPTConfig())
    assert (response.message, response.reasoning) == ("Paris it is." if streamed else "Paris", "Of France.")


@pytest.mark.parametrize(
    "delta", [{"content": 3}, {"content": [3]}, {"reasoning": 3}, {"tool_calls": [{"index": "x"}]}]
)
def test_what_is_no_piece_of_an_answer_is_told_as_the_servers_fault(delta: Any) -> None:
    with pytest.raises(ModelUnavailableError, match="not a chunk of a chat completion"):
        StreamAssembler().feed({"choices": [{"delta": delta}]})
