"""The place of a served run's steps among traces, in one process."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.served_parts import Desk
from tests.support.telemetry import Memory, SeenSpan, connected, in_memory, tree

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.observability.logs import configure_logging
from turnwise.processes.observers import tracing
from turnwise.processes.observers.tracing import SpanPlace, place_of_attempt, place_of_move
from turnwise.record.store import Store
from turnwise.record.values.records import AskRecord, ReplyRecord, RunRecord

SUBMITTED = "00-" + "a" * 32 + "-" + "1" * 16 + "-01"
logger = logging.getLogger("desk")


class Lookup(ToolMessage):
    request: str = "look_up"
    purpose: str = "To look <what> up."
    what: str

    def handle(self) -> str:
        logger.warning("Looking up %s", self.what)
        return f"there is no {self.what}"


@pytest.fixture
def memory() -> Iterator[Memory]:
    with in_memory() as found:
        yield found


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with served(tmp_path) as made:
        yield made


def served(folder: Path, **settings: Any) -> Desk:
    database = fresh_sqlite(folder / "runs.db")
    app = App("tests")

    @app.task
    def desk() -> Task:
        def answer(said: str) -> str:
            return "DONE none" if "no heron" in said else '{"request": "look_up", "what": "heron"}'

        agent = ChatAgent(ChatAgentConfig(name="Clerk", llm=MockLMConfig(response_fn=answer)))
        agent.enable_message(Lookup)
        return Task(agent, name="desk", interactive=False)

    return Desk(Store(database), app, **settings)


def by_name(memory: Memory, name: str) -> list[SeenSpan]:
    return [span for span in memory.spans() if span.name == name]


MOVES: list[Any] = [
    ("move desk", [("invoke_agent Clerk", [("chat mock", [])])]),
    ("move desk", [("invoke_agent Clerk", [("execute_tool look_up", [])])]),
    ("move desk", [("invoke_agent Clerk", [("chat mock", [])])]),
    ("move desk", []),
]


def test_the_steps_of_a_run_lie_side_by_side_in_the_trace_of_its_submission(desk: Desk, memory: Memory) -> None:
    run = desk.go_on(desk.submit("desk", traceparent=SUBMITTED))

    assert run.status == "completed"
    assert {span.trace for span in memory.spans()} == {"a" * 32}
    found = tree(memory.spans())
    assert [one for one in found if one[0] == "move desk"] == MOVES
    assert [one for one in found if one[0] != "move desk"] == [("invoke_workflow desk", [])]
    assert {span.attributes["turnwise.run"] for span in memory.spans()} == {run.id}
    assert {span.attributes["gen_ai.conversation.id"] for span in memory.spans()} == {run.id}
    whole = by_name(memory, "invoke_workflow desk")[0]
    assert (whole.started, whole.ended) == pytest.approx(
        (run.created_at * 1e9, (run.finished_at or 0) * 1e9), abs=1_000_000
    )


def test_a_run_that_nobody_traced_before_begins_a_trace_of_its_own(desk: Desk, memory: Memory) -> None:
    run = desk.go_on(desk.submit("desk"))

    assert run.stretch is not None
    first, *others = sorted(by_name(memory, "move desk"), key=lambda span: span.started)
    assert first.parent == ""
    assert {span.parent for span in others} == {first.id}


def test_moves_with_the_reply_stand_where_others_would(tmp_path: Path, memory: Memory) -> None:
    with served(tmp_path, moves="worker") as desk:
        run_id = desk.submit("desk", traceparent=SUBMITTED)
        desk.coordinator.move(run_id)
        assert desk.responders.serve(f"llm-{desk.own}")  # and what follows, to the end
        assert desk.store.inspector.run(run_id).ended

    assert [one for one in tree(memory.spans()) if one[0] == "move desk"] == MOVES


def test_what_goes_on_much_later_begins_a_trace_with_links_to_what_it_follows(
    desk: Desk, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "TOGETHER", -1.0)

    run = desk.go_on(desk.submit("desk", traceparent=SUBMITTED))

    assert run.status == "completed"
    spans = memory.spans()
    assert len({span.trace for span in spans}) == 8  # four moves, three answers, and the run as a whole
    assert connected(spans)
    assert all(span.links for span in spans if not span.parent)
    assert {link[1] for span in by_name(memory, "move desk") for link in span.links} >= {"1" * 16}


def test_the_record_keeps_the_contexts_and_a_permit_carries_them_on(desk: Desk, memory: Memory) -> None:
    run_id = desk.submit("desk", traceparent=SUBMITTED)
    moved = desk.coordinator.move(run_id)

    assert moved.ask is not None
    (move,) = by_name(memory, "move desk")
    assert moved.ask.traceparent == f"00-{move.trace}-{move.id}-01"
    assert desk.store.inspector.run(run_id).traceparent == SUBMITTED


def test_log_lines_of_a_handler_have_the_ids_of_its_run_and_its_span(desk: Desk, memory: Memory) -> None:
    lines = io.StringIO()
    before = logging.getLogger().handlers[:], logging.getLogger().level
    configure_logging("json", "WARNING", lines)
    try:
        run = desk.go_on(desk.submit("desk", traceparent=SUBMITTED))
    finally:
        logging.getLogger().handlers[:], level = before
        logging.getLogger().setLevel(level)

    (line,) = [json.loads(line) for line in lines.getvalue().splitlines() if "Looking" in line]
    (tool,) = by_name(memory, "execute_tool look_up")
    assert (line["trace_id"], line["span_id"]) == (tool.trace, tool.id)
    assert (line["run"], line["ask"].split(".")[0]) == (run.id, run.id)


def test_without_a_listener_nothing_is_kept(desk: Desk) -> None:
    run = desk.go_on(desk.submit("desk"))

    assert (run.status, run.traceparent, run.stretch) == ("completed", None, None)


# Where a step goes, by what it follows and how long ago that was.

MOVE, ANSWERED = "00-" + "a" * 32 + "-" + "2" * 16 + "-01", "00-" + "a" * 32 + "-" + "3" * 16 + "-01"
HUMAN = "00-" + "b" * 32 + "-" + "4" * 16 + "-01"
DAY = 86_400.0


def record(kind: Any, **values: Any) -> Any:
    return kind(**(dict.fromkeys(kind.__dataclass_fields__) | values))


RUN: RunRecord = record(RunRecord, id="run_1", created_at=0.0, traceparent=SUBMITTED)
ASK: AskRecord = record(AskRecord, id="run_1.1", created_at=1.0, claimed_at=1.5, traceparent=MOVE)
REPLY: ReplyRecord = record(ReplyRecord, at=2.0, traceparent=ANSWERED)


@pytest.mark.parametrize(
    ("run", "ask", "reply", "now", "expected"),
    [
        (RUN, None, None, 1.0, SpanPlace(parent=SUBMITTED)),
        (RUN, None, None, DAY, SpanPlace(links={"follows": SUBMITTED}, begins=True)),
        (RUN, ASK, REPLY, 3.0, SpanPlace(parent=SUBMITTED)),
        (RUN, ASK, replace(REPLY, at=DAY), DAY + 1, SpanPlace(parent=SUBMITTED)),
        (RUN, ASK, REPLY, DAY, SpanPlace(links={"follows": ANSWERED, "run": SUBMITTED}, begins=True)),
        (
            RUN,
            ASK,
            replace(REPLY, at=DAY, traceparent=HUMAN),
            DAY + 1,
            SpanPlace(parent=HUMAN, links={"asked": MOVE, "run": SUBMITTED}, begins=True),
        ),
        (replace(RUN, stretch=HUMAN), ASK, replace(REPLY, traceparent=HUMAN), 3.0, SpanPlace(parent=HUMAN)),
        (RUN, ASK, replace(REPLY, traceparent=None), 3.0, SpanPlace(parent=SUBMITTED)),
        (RUN, ASK, None, DAY, SpanPlace(links={"follows": MOVE, "run": SUBMITTED}, begins=True)),
    ],
    ids=[
        "the first",
        "the first, for a coordinator that was away",
        "after an answer",
        "after a long answer",
        "after an answer, for a coordinator that was away",
        "after a human's answer",
        "later in that stretch",
        "after an answer that nobody traced",
        "to cancel what waits",
    ],
)
def test_the_place_of_a_move(
    run: RunRecord, ask: AskRecord | None, reply: ReplyRecord | None, now: float, expected: SpanPlace
) -> None:
    assert place_of_move(run, ask, reply, now) == expected


def test_the_place_of_an_attempt() -> None:
    assert place_of_attempt(ASK, RUN) == SpanPlace(parent=MOVE)
    late = replace(ASK, claimed_at=DAY)
    assert place_of_attempt(late, RUN) == SpanPlace(links={"follows": MOVE, "run": SUBMITTED}, begins=True)
    assert place_of_attempt(replace(ASK, traceparent=None), replace(RUN, stretch=HUMAN)) == SpanPlace(parent=HUMAN)
