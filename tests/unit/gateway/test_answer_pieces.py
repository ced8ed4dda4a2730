"""The order in which a stream sends pieces of answers and the events of their asks."""

from __future__ import annotations

import pytest

from turnwise.bus.envelope import TokenNotice
from turnwise_gateway.watching.answer_pieces import AnswerPieces


def piece(ask: str, text: str) -> TokenNotice:
    return TokenNotice(run="run_1", ask=ask, attempt=1, offset=0, text=text)


def sent(
    pieces: AnswerPieces, events: list[tuple[str, str]], told: list[TokenNotice], late: list[TokenNotice]
) -> list[str]:
    """What one look sends."""
    pieces.told(told)
    pieces.told_late(late)
    order = []
    for kind, ask in events:
        order += [one.text for one in pieces.before(kind, ask)]
        order.append(f"{kind} {ask}")
    return order + [one.text for one in pieces.rest()]


@pytest.mark.parametrize("comes_late", [False, True])
def test_a_piece_goes_before_the_reply_that_the_same_look_found(comes_late: bool) -> None:
    told = [piece("a", "red")]
    events = [("turn.asked", "a"), ("turn.replied", "a"), ("turn.taken", "a"), ("turn.asked", "b")]

    order = sent(AnswerPieces(), events, [] if comes_late else told, told if comes_late else [])

    assert order == ["turn.asked a", "red", "turn.replied a", "turn.taken a", "turn.asked b"]


def test_a_piece_behind_the_reply_to_its_ask_is_dropped() -> None:
    pieces = AnswerPieces()
    sent(pieces, [("turn.replied", "a")], [], [])

    assert sent(pieces, [], [piece("a", "red"), piece("b", "blue")], []) == ["blue"]


def test_a_piece_that_comes_during_the_look_waits_for_the_event_of_its_ask() -> None:
    pieces = AnswerPieces()

    assert sent(pieces, [("turn.taken", "a")], [], [piece("b", "blue")]) == ["turn.taken a"]
    assert sent(pieces, [("turn.asked", "b")], [piece("b", "sky")], []) == ["turn.asked b", "blue", "sky"]


def test_the_ask_of_a_retried_run_is_answered_again() -> None:
    pieces = AnswerPieces()
    sent(pieces, [("turn.replied", "a"), ("run.failed", ""), ("run.retried", "")], [], [])

    assert sent(pieces, [], [piece("a", "red")], []) == ["red"]
