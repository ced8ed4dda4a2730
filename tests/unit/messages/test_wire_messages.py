"""The checks of a message from the broker before anything is done with it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest

from turnwise.bus.broker import protocol
from turnwise.bus.broker.protocol import ANSWER_TASK, MOVE_TASK
from turnwise.bus.envelope import MAX_MESSAGE_BYTES, AskEnvelope, CancelNotice, MoveEnvelope, RunNotice
from turnwise.bus.signing import HEADER, NO_KEYS, WireKeys
from turnwise.bus.worker.message_check import notice_in, work_in
from turnwise.errors import ConfigurationError, InvalidRequestError

OLD, NEW = "o" * 32, "n" * 32
MOVE = MoveEnvelope(run="run_1")
ASK = AskEnvelope(
    run="run_1", ask="run_1.1.1.1", queue="llm", agent="clerk", responder="llm", task="desk", turn=1,
    document={"content": "Zürich ✓"},
)  # fmt: skip


@dataclass(kw_only=True)
class Message:
    """As kombu would hand it over."""

    body: Any
    headers: Any = field(default_factory=dict)
    content_type: Any = "application/json"
    delivery_info: Any = field(default_factory=dict)


def _published(work: MoveEnvelope | AskEnvelope, keys: WireKeys = NO_KEYS, key: str = "coordinator.move") -> Message:
    task, body = (MOVE_TASK if work.kind == "move" else ANSWER_TASK), protocol.body(work)
    headers = protocol.headers(task, work, "id-1") | keys.headers("work", key, body)
    return Message(body=body, headers=headers, delivery_info={"routing_key": key})


def _told(keys: WireKeys = NO_KEYS) -> Message:
    body = CancelNotice(run="run_1").model_dump_json()
    return Message(body=body.encode(), headers=keys.headers("notice", "", body))


def test_what_is_published_is_taken() -> None:
    assert work_in(_published(MOVE), NO_KEYS) == MOVE
    assert work_in(_published(ASK, key="llm.clerk"), NO_KEYS) == ASK
    assert notice_in(_told(), NO_KEYS) == CancelNotice(run="run_1")


def _body(argument: Any, named: Any = None, **embedded: Any) -> str:
    return json.dumps([[argument], named or {}, {"callbacks": None, "chain": None} | embedded])


_GOOD = MOVE.model_dump()
_AFTER = {"task": "turnwise.answer", "args": [], "kwargs": {}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"content_type": "application/x-python-serialize"}, "Expected application/json"),
        ({"content_type": None}, "Expected application/json"),
        ({"body": b"\x80\x04K\x01."}, "is not JSON"),
        ({"body": "[" * 100_000}, "is not JSON"),
        ({"body": b"x" * (MAX_MESSAGE_BYTES + 1)}, "more than the"),
        ({"body": json.dumps([[_GOOD, 1], {}, {}])}, "one argument"),
        ({"body": json.dumps([[], {}, {}])}, "one argument"),
        ({"body": json.dumps({"task": MOVE_TASK, "args": [_GOOD]})}, "one argument"),
        ({"body": "17"}, "one argument"),
        ({"body": _body(_GOOD, {"run": "run_2"})}, "one argument"),
        ({"body": _body(_GOOD, chain=[_AFTER])}, "nothing to be called after it"),
        ({"body": _body(_GOOD, callbacks=[_AFTER])}, "nothing to be called after it"),
        ({"body": _body({**_GOOD, "extra": 1})}, "Not an envelope"),
        ({"body": _body({**_GOOD, "v": 2})}, "version 2"),
        ({"body": _body(RunNotice(run="r", seq=1).model_dump())}, "does not belong to its task"),
        ({"body": _body(ASK.model_dump(exclude_none=True))}, "does not belong to its task"),
        ({"headers": {"task": "celery.chain"}}, "Expected one of the tasks"),
        ({"headers": None}, "Expected one of the tasks"),
    ],
)
def test_whatever_is_no_work_of_ours_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequestError, match=said):
        work_in(replace(_published(MOVE), **change), NO_KEYS)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"content_type": "application/x-yaml"}, "Expected application/json"),
        ({"body": b"{"}, "is not JSON"),
        ({"body": " " * (MAX_MESSAGE_BYTES + 1)}, "more than the"),
        ({"body": MOVE.model_dump_json()}, "A work message arrived on the channel of notices"),
        ({"body": '{"v": 1, "kind": "cancel"}'}, "Not an envelope"),
    ],
)
def test_whatever_is_no_notice_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequestError, match=said):
        notice_in(replace(_told(), **change), NO_KEYS)


def test_the_largest_document_that_travels_fits() -> None:
    large = ASK.model_copy(update={"document": {"content": '"' * 32_700}})

    assert work_in(_published(large, key="llm.clerk"), NO_KEYS) == large


def test_the_first_key_signs_and_all_verify() -> None:
    rolled_out = WireKeys.of([OLD, NEW]), WireKeys.of([NEW, OLD]), WireKeys.of([NEW])

    for signs, checks in pairwise(rolled_out):
        assert work_in(_published(MOVE, signs), checks) == MOVE
        assert work_in(_published(MOVE, checks), signs) == MOVE
        assert notice_in(_told(signs), checks) == CancelNotice(run="run_1")
    with pytest.raises(InvalidRequestError, match="signature is none of TURNWISE_WIRE_KEYS"):
        work_in(_published(MOVE, rolled_out[0]), rolled_out[2])


def test_nothing_of_a_signed_message_can_be_changed() -> None:
    keys = WireKeys.of([NEW])
    message = _published(ASK, keys, key="llm.clerk")
    forged = ASK.model_copy(update={"document": {"content": "something else"}})
    changes: list[dict[str, Any]] = [
        {"body": protocol.body(forged)},
        {"body": message.body + " "},
        {"delivery_info": {"routing_key": "llm-big.clerk"}},  # put into another queue
        {"delivery_info": None},
        {"headers": message.headers | {HEADER: message.headers[HEADER][:-1] + "x"}},
        {"headers": message.headers | {HEADER: "é"}},
        {"headers": message.headers | {HEADER: 17}},
        {"headers": {name: value for name, value in message.headers.items() if name != HEADER}},
    ]

    assert work_in(message, keys) == ASK
    for change in changes:
        with pytest.raises(InvalidRequestError, match="sign"):
            work_in(replace(message, **change), keys)


def test_a_signature_of_a_notice_is_none_of_work() -> None:
    keys = WireKeys.of([NEW])
    body = protocol.body(MOVE)
    message = replace(_published(MOVE), headers={"task": MOVE_TASK} | keys.headers("notice", "", body))

    with pytest.raises(InvalidRequestError, match="signature"):
        work_in(replace(message, delivery_info={"routing_key": ""}), keys)


def test_an_unsigned_message_is_taken_only_during_a_rollout() -> None:
    strict, rollout = WireKeys.of([NEW]), WireKeys.of([NEW], accept_unsigned=True)

    assert (strict.required, rollout.required, NO_KEYS.required) == (True, False, False)
    assert work_in(_published(MOVE), rollout) == MOVE
    assert notice_in(_told(), rollout) == CancelNotice(run="run_1")
    with pytest.raises(InvalidRequestError, match="not signed"):
        work_in(_published(MOVE), strict)
    with pytest.raises(InvalidRequestError, match="not signed"):
        notice_in(_told(), strict)
    with pytest.raises(InvalidRequestError, match="signature is none"):
        work_in(_published(MOVE, WireKeys.of(["x" * 32])), rollout)


def test_keys_are_long_and_in_no_repr() -> None:
    with pytest.raises(ConfigurationError, match=r"key 2 of TURNWISE_WIRE_KEYS has 5 characters.*openssl rand"):
        WireKeys.of([NEW, "short"])
    assert NEW not in repr(WireKeys.of([NEW]))
