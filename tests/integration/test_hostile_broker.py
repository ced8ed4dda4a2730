"""A message of a hostile broker is refused or wakes a process; none ends a process or hurts a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.either_database import postgres_url
from tests.support.gateway_parts import make_app, served
from tests.support.property_settings import examples
from tests.support.served_parts import Desk

from turnwise.bus.broker.protocol import ANSWER_TASK, MOVE_TASK
from turnwise.bus.envelope import AskEnvelope, CancelNotice, MoveEnvelope
from turnwise.bus.signing import WireKeys
from turnwise.bus.worker.message_check import notice_in, work_in
from turnwise.errors import InvalidRequestError
from turnwise.record.database.database import Database
from turnwise.record.store import Store

__all__ = ["postgres_url"]

_NAMES = st.sampled_from(["run_1", "\x00", "\ud800", "x" * 5_000, "run_1.1.1.1", "' OR 1=1 --"]) | st.text(min_size=1)
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | _NAMES
_JSON = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
_ENVELOPES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "v": st.just(1) | _SCALARS,
        "kind": st.sampled_from(
            ["ask", "move", "run", "cancel", "llm.delta", "text", "watch", "watch.run", "watch.text"]
        ),
        "run": _NAMES,
    },
    optional={
        "ask": _NAMES,
        "queue": _NAMES,
        "agent": _NAMES,
        "responder": st.sampled_from(["llm", "agent", "user"]),
        "task": _NAMES,
        "turn": _SCALARS,
        "seq": _SCALARS,
        "attempt": _SCALARS,
        "offset": _SCALARS,
        "text": _NAMES,
        "document": _JSON | st.just([[[[[[]]]]]] * 50),
        "pieces": _JSON,
        "runs": _JSON,
    },
)
_BODIES = (
    st.binary(max_size=50)
    | st.sampled_from([b"", b"[" * 100_000, b"null", b"1" * 6_000, b'{"v": 1e999}', b" " * 300_000])
    | _JSON.map(lambda value: json.dumps(value).encode())
    | _ENVELOPES.map(lambda value: json.dumps(value).encode())
    | _ENVELOPES.map(lambda value: json.dumps([[value], {}, {"callbacks": None}]).encode())
    | _JSON.map(lambda value: json.dumps([[value], {}, {}]).encode())
)
_ODD = st.none() | st.integers() | st.text(max_size=5) | st.dictionaries(st.text(max_size=5), _SCALARS, max_size=2)


def _message(body: Any, kind: Any, headers: Any, info: Any) -> Any:
    return SimpleNamespace(body=body, content_type=kind, headers=headers, delivery_info=info)


_MESSAGES = st.builds(
    _message,
    _BODIES | st.text(max_size=20),
    st.just("application/json") | _ODD,
    st.fixed_dictionaries({"task": st.sampled_from([ANSWER_TASK, MOVE_TASK, "os.system"])}) | _ODD,
    st.just({"routing_key": "llm"}) | _ODD,
)


@given(message=_MESSAGES)
@examples(300)
def test_a_message_is_an_envelope_or_is_refused(message: Any) -> None:
    for read in (work_in, notice_in):
        try:
            read(message, WireKeys())
        except InvalidRequestError as error:
            str(error).encode(errors="surrogatepass")


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    url = f"sqlite:///{tmp_path_factory.mktemp('broker') / 'record.db'}"
    database = Database(request.getfixturevalue("postgres_url") if request.param == "postgres" else url)
    database.migrate()
    with Desk(Store(database), make_app()) as made:
        yield made
    database.close()


# Halves of pairs are refused before.
_WRITTEN = _NAMES.filter(lambda name: name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name))


@given(run=_WRITTEN, ask=_WRITTEN, queue=_WRITTEN)
@examples(40)
def test_an_envelope_about_nothing_wakes_nobody_and_hurts_nothing(desk: Desk, run: str, ask: str, queue: str) -> None:
    with suppress(InvalidRequestError):
        assert desk.coordinator.woken(MoveEnvelope(run=run).run) is None
    permit: dict[str, Any] = {"run": run, "ask": ask, "agent": "desk", "responder": "llm", "task": "", "turn": 1}
    for name in (queue, desk.own):
        assert not desk.responders.answer(AskEnvelope(queue=name, **permit))
    desk.responders._in_flight.heard(CancelNotice(run=run))


def test_afterwards_a_run_goes_on_as_ever(desk: Desk, tmp_path: Any) -> None:
    run = desk.go_on(desk.submit("desk"))

    assert run.status == "waiting"
    with served(tmp_path, database=desk.store.database) as gateway:
        for path in ("/v1/runs", "/v1/inbox", f"/v1/runs/{run.id}", f"/v1/runs/{run.id}/transcript"):
            assert gateway.http.get(path).status_code == 200, path
