"""A run with a hostile model server ends with a result or an error, and everything that shows it still answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr
from tests.support.either_database import postgres_url
from tests.support.gateway_parts import Served, served
from tests.support.property_settings import examples
from tests.support.raw_model import RawAnswer, completion, raw_model
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task, ToolMessage
from turnwise.models.retry_policy import RetryPolicy
from turnwise.record.database.database import Database
from turnwise.record.store import Store

__all__ = ["postgres_url"]


class Note(ToolMessage):
    request: str = "note"
    purpose: str = "To note anything."
    what: Any = None
    count: int = 0


class Notes(BaseModel):
    kept: list[Any] = []


class Noter(ChatAgent):
    State = Notes

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.enable_message(Note)

    def note(self, tool: Note) -> Any:
        self.state.kept.append(tool.what)
        return {"noted": tool.what, "count": tool.count}


class Hostile:
    """A desk whose model answers with `answers`, one after the other, and behind them with a good one."""

    def __init__(self, database: Database, directory: Path) -> None:
        self.database, self.directory = database, directory
        self.answers: list[RawAnswer] = []
        self.runs: list[str] = []

    def answer(self, _asked: dict[str, Any]) -> RawAnswer:
        return self.answers.pop(0) if self.answers else completion({"content": "DONE"})

    def app(self, url: str) -> App:
        app = App("tests", version="1")
        for name, stream in (("whole", False), ("streamed", True)):
            app.task(name=name)(lambda stream=stream, name=name: self._task(url, name, stream))
        return app

    def _task(self, url: str, name: str, stream: bool) -> Task:
        model = OpenAIGPTConfig(
            chat_model="hostile",
            api_base=url,
            api_key=SecretStr("k"),
            input_price=Decimal(1),
            output_price=Decimal(2),
            max_output_tokens=100,
            min_output_tokens=10,
            timeout=10,
            stream=stream,
        )
        agent = Noter(ChatAgentConfig(name=name, llm=model, retry=RetryPolicy.NEVER))
        return Task(agent, name=name, interactive=False, max_stalled_steps=2)


# What a program may meet where it expects something else; numbers and texts at the edges.
_SCALARS = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 10**400, 1.5, 1e308, float("inf")])
    | st.sampled_from(
        ["", "\x00", "\ud800", "half \udfff", "DONE", "note", "é" * 50, "{", '{"request": "note"}', "x" * 5_000]
    )
    | st.text(max_size=20)
)


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": [value]} if levels < 300 else [value]
    return value


_JSON = st.recursive(
    _SCALARS | st.integers(30, 280).map(_deep),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_ARGUMENTS = (
    _JSON.map(lambda value: json.dumps({"what": value}))
    | st.integers(100, 3_000).map(lambda levels: '{"what": ' + "[" * levels + "]" * levels + "}")
    | st.sampled_from(["", "{", "null", "[]", '{"what": 1', '{"what": 1e999}', '{"count": "many"}', "\x00"])
    | st.dictionaries(st.sampled_from(["what", "count", "request", "$tool"]), _JSON, max_size=3)
    | _JSON
)
_FUNCTION = st.fixed_dictionaries(
    {"name": st.sampled_from(["note", "note", "unknown", "", "note\x00", "\ud800"]) | _JSON, "arguments": _ARGUMENTS}
)
_CALL = st.fixed_dictionaries(
    {"function": _FUNCTION},
    optional={"id": _SCALARS, "type": _SCALARS, "index": st.sampled_from([0, 1, -1, 10**9]) | _JSON},
)
_CALLS = st.lists(_CALL | _JSON, max_size=3)
_MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "content": _SCALARS | _ARGUMENTS.map(lambda value: f'{{"request": "note", "what": {value}}}') | _JSON,
        "reasoning": _JSON,
        "reasoning_content": _SCALARS,
        "refusal": _SCALARS,
        "tool_calls": _CALLS | _JSON,
        "function_call": _FUNCTION | _JSON,
        "role": _SCALARS,
    },
)
# An answer of the right form, whose every value may be hostile.
_NAMED = st.fixed_dictionaries(
    {"name": st.sampled_from(["note", "note", "note", "unknown", "\ud800", "note\x00"]), "arguments": _ARGUMENTS}
)
_FORMAL_CALL = st.fixed_dictionaries(
    {"function": _NAMED, "id": st.sampled_from(["c1", "c2", "", "\ud800", "\x00"]), "type": st.just("function")}
)
_FORMAL = st.fixed_dictionaries(
    {"content": st.text(max_size=20) | st.sampled_from(["DONE", "a \x00", "half \ud800", None])},
    optional={"tool_calls": st.lists(_FORMAL_CALL, min_size=1, max_size=2)},
) | _ARGUMENTS.map(lambda given: {"content": f'{{"request": "note", "what": {json.dumps(given)}}}'})
_USAGE = st.fixed_dictionaries(
    {},
    optional={
        "prompt_tokens": _SCALARS,
        "completion_tokens": _SCALARS,
        "prompt_tokens_details": st.fixed_dictionaries({"cached_tokens": _SCALARS}) | _JSON,
    },
)
_FINISH = st.sampled_from(["stop", "length", "tool_calls", "content_filter", None, "", "\ud800"]) | _JSON
_HEADERS = st.fixed_dictionaries(
    {
        "content-type": st.sampled_from(
            ["application/json", "text/html", "text/event-stream", "", "application/json; charset=x"]
        )
    },
    optional={
        "x-ratelimit-limit-requests": st.sampled_from(["0", "-1", "nan", "1e400", "9" * 400, "abc", ""]),
        "x-ratelimit-remaining-tokens": st.sampled_from(["0", "-5", "inf", "9" * 50]),
        "x-ratelimit-reset-requests": st.sampled_from(["-1s", "9" * 30 + "d", "1h", "?"]),
        "retry-after": st.sampled_from(["-1", "nan", "0", "9" * 40, "Wed, 21 Oct 1015 07:28:00 GMT", "soon"]),
        "x-request-id": st.sampled_from(["a" * 5_000, "1"]),
    },
)
_STATUS = st.sampled_from([200] * 12 + [201, 400, 401, 404, 413, 422, 500, 503])


def _body(value: Any) -> bytes:
    return json.dumps(value).encode()


_WHOLE = st.fixed_dictionaries(
    {
        "choices": st.lists(
            st.fixed_dictionaries({"message": _MESSAGE}, optional={"finish_reason": _FINISH}) | _JSON, max_size=2
        )
        | _JSON
    },
    optional={"usage": _USAGE | _JSON, "model": _SCALARS, "id": _SCALARS},
)
_GOOD = st.fixed_dictionaries(
    {"choices": st.lists(st.fixed_dictionaries({"message": _FORMAL}), min_size=1, max_size=1), "usage": _USAGE}
)
_GARBAGE = st.binary(max_size=60) | st.sampled_from(
    [b"", b"null", b"[", b'"text"', b"\xff\xfe", b"[" * 50_000, b"1" * 5_000, b"<html>", b" " * 200_000]
)
_WHOLE_ANSWERS = st.builds(
    lambda body, status, headers, with_length: RawAnswer(
        pieces=(body,), status=status, headers=headers, with_length=with_length
    ),
    _GOOD.map(_body) | _WHOLE.map(_body) | _GARBAGE,
    _STATUS,
    _HEADERS,
    st.booleans(),
)
_CHUNK = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(
            st.fixed_dictionaries({"delta": _MESSAGE | _JSON}, optional={"finish_reason": _FINISH}) | _JSON, max_size=2
        ),
        "usage": _USAGE | _JSON,
        "model": _SCALARS,
        "error": _JSON,
    },
)
_LINES = (
    _CHUNK.map(lambda chunk: b"data: " + _body(chunk) + b"\n\n")
    | _JSON.map(lambda value: b"data: " + _body(value) + b"\n\n")
    | st.sampled_from(
        [
            b"data: [DONE]\n\n",
            b"data:\n\n",
            b": ping\n\n",
            b"event: error\ndata: {}\n\n",
            b"data: {\n\n",
            b"\xff\n\n",
            b"id: 1\n",
        ]
    )
)
_LAST = st.sampled_from(
    [b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n', b"data: [DONE]\n\n", b""]
)
_STREAMED_ANSWERS = st.builds(
    lambda lines, last, status, with_length: RawAnswer(
        pieces=(*lines, last), status=status, headers={"content-type": "text/event-stream"}, with_length=with_length
    ),
    st.lists(_LINES, max_size=5),
    _LAST,
    _STATUS,
    st.booleans(),
)


_FORMAL_ANSWERS = _GOOD.map(lambda body: RawAnswer(pieces=(_body(body),)))
_FORMAL_STREAMS = st.builds(
    lambda message, usage: RawAnswer(pieces=_streamed(message, usage), headers={"content-type": "text/event-stream"}),
    _FORMAL,
    _USAGE,
)


def _streamed(message: dict[str, Any], usage: Any) -> tuple[bytes, ...]:
    calls = [{**call, "index": at} for at, call in enumerate(message.get("tool_calls", ()))]
    chunks = [
        {"choices": [{"delta": {**message, "tool_calls": calls}}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage},
    ]
    return (*(b"data: " + _body(chunk) + b"\n\n" for chunk in chunks), b"data: [DONE]\n\n")


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def hostile(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Hostile, Desk, Served]]:
    directory = tmp_path_factory.mktemp("hostile")
    if request.param == "postgres":
        database = Database(request.getfixturevalue("postgres_url"))
    else:
        database = Database(f"sqlite:///{directory / 'record.db'}")
        database.migrate()
    made = Hostile(database, directory)
    with raw_model(made.answer) as url:
        app = made.app(url)
        with Desk(Store(database), app) as desk, served(directory, database=database, app=app) as gateway:
            yield made, desk, gateway
    database.close()


def _run(hostile: tuple[Hostile, Desk, Served], task: str, answers: list[RawAnswer]) -> None:
    made, desk, gateway = hostile
    made.answers = list(answers)
    run = desk.go_on(desk.submit(task, max_cost=Decimal(1)))
    made.runs.append(run.id)

    # Parked or put off, or ended; and nobody holds anything of it any more.
    assert run.ended or run.status == "waiting", (run.status, run.waiting_for)
    assert desk.responders.busy() == 0
    assert desk.store.inspector.run(run.id).reserved_tokens == 0
    assert run.cost >= 0
    shown = [f"/v1/runs/{run.id}", f"/v1/runs/{run.id}/transcript"]
    shown += [f"/v1/runs/{run.id}/events"] if run.ended else []
    for path in shown:
        answer = gateway.http.get(path)
        assert answer.status_code == 200, (path, answer.text)
        answer.content.decode()
    if run.ended:
        types = [line for line in gateway.http.get(shown[-1]).text.splitlines() if line.startswith("event: ")]
        assert types[-1] in ("event: run.completed", "event: run.failed"), types


@given(answers=st.lists(_FORMAL_ANSWERS | _WHOLE_ANSWERS, min_size=1, max_size=2))
@examples(25)
def test_any_answer_of_a_model_leaves_a_run_that_can_be_shown(
    hostile: tuple[Hostile, Desk, Served], answers: list[RawAnswer]
) -> None:
    _run(hostile, "whole", answers)


@given(answers=st.lists(_FORMAL_STREAMS | _STREAMED_ANSWERS, min_size=1, max_size=2))
@examples(25)
def test_so_does_any_stream(hostile: tuple[Hostile, Desk, Served], answers: list[RawAnswer]) -> None:
    _run(hostile, "streamed", answers)


def test_afterwards_every_list_answers_every_run_is_exported_and_a_new_one_completes(
    hostile: tuple[Hostile, Desk, Served],
) -> None:
    made, desk, gateway = hostile
    for answer in (completion({"content": "DONE"}, usage={"prompt_tokens": 2**63 - 1, "completion_tokens": -1}),):
        _run(hostile, "whole", [answer])
    for run in made.runs:
        json.dumps(desk.store.inspector.export(run), allow_nan=False).encode()
    cursor: str | None = None
    while True:
        page = gateway.http.get("/v1/runs", params={"limit": 50} | ({"cursor": cursor} if cursor else {}))
        assert page.status_code == 200
        if (cursor := page.json()["next_cursor"]) is None:
            break
    for path in ("/v1/inbox", "/v1/queues", "/v1/usage", "/v1/workers", "/v1/tasks", "/metrics"):
        assert gateway.http.get(path).status_code == 200, path

    for task in ("whole", "streamed"):
        made.answers = []
        if task == "streamed":
            piece = b'data: {"choices": [{"delta": {"content": "DONE"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
            made.answers = [RawAnswer(pieces=(piece,), headers={"content-type": "text/event-stream"})]
        assert desk.go_on(desk.submit(task)).status == "completed"


@pytest.mark.parametrize("asked", ["Fri, 31 Dec 9999 23:59:59 GMT", "1764345600000"])
def test_a_run_whose_provider_asks_for_a_far_time_is_shown_and_listed(tmp_path: Path, asked: str) -> None:
    busy = RawAnswer(status=429, headers={"retry-after": asked}, pieces=(b"{}",))
    app = App("tests", version="1")
    with raw_model(lambda _: busy) as url:
        model = OpenAIGPTConfig(chat_model="busy", api_base=url, api_key=SecretStr("k"))
        app.task(name="busy")(lambda: Task(ChatAgent(ChatAgentConfig(name="busy", llm=model)), interactive=False))
        database = Database(f"sqlite:///{tmp_path / 'record.db'}")
        database.migrate()
        with Desk(Store(database), app) as desk, served(tmp_path, database=database, app=app) as gateway:
            run = desk.go_on(desk.submit("busy"))
            shown, listed = gateway.http.get(f"/v1/runs/{run.id}"), gateway.http.get("/v1/runs")
            wait = desk.store.inspector.situation(run.id).ask
            now = desk.store.worker.now()
        database.close()
    assert (shown.status_code, listed.status_code) == (200, 200)
    assert wait is not None and wait.due_at is not None and wait.due_at - now < 2 * 86_400
