"""The modules of the page of a run that need no page, in a browser: what they make of transcripts and events."""

from __future__ import annotations

import typing
from typing import Any

import pytest
from playwright.sync_api import Page
from tests.console.conftest import Opening
from tests.console.run_pages import RunDesk

from turnwise.api.details import WaitKind


@pytest.fixture
def page(opened: Opening, run_desk: RunDesk) -> Page:
    return opened(run_desk.url)


def call(page: Page, module: str, script: str, argument: Any = None) -> Any:
    """The value of a script, a function of the module `m` and an argument; the page's policy allows no `eval`."""
    loaded = """async ([module, argument]) => {
        const app = document.querySelector("script[type=module]").src;
        const m = await import(new URL(`pages/run/${module}`, app).href);
        return await (SCRIPT)(m, argument);
    }"""
    return page.evaluate(loaded.replace("SCRIPT", script), [module, argument])


def test_a_conversation_is_the_same_from_events_and_from_any_transcript_with_the_events_after_it(
    page: Page, run_desk: RunDesk
) -> None:
    run_id = run_desk.run("desk")
    transcript = run_desk.client.transcript(run_id, rejected=True).model_dump(mode="json")
    events = [event.model_dump(mode="json", exclude_none=True) for event in run_desk.client.events(run_id)]

    made = call(
        page,
        "conversation.js",
        """(m, [transcript, events]) => {
            const whole = m.Conversation.of(transcript);
            const told = new m.Conversation();
            for (const event of [...events, ...events]) told.take(event);
            const plain = (of) => of.picture().entries.map((one) => [
                one.key, one.event, one.node.path,
                one.responder, one.model, one.status, one.document?.content,
            ]);
            const tree = (of) => of.nodes.map((node) =>
                [node.path, node.depth, node.last, node.status, node.cost.toFixed(6), node.messages]);
            const all = (of) => [plain(of), tree(of), of.picture().usage];
            return { told: all(told), whole: all(whole), ended: told.ended };
        }""",
        [transcript, events],
    )

    assert made["told"] == made["whole"]
    assert made["ended"] == "completed"
    assert len(made["told"][0]) == 12


def test_who_is_asked_is_known_of_events_that_the_transcript_has_seen(page: Page) -> None:
    begun = {"task": "t", "event": 2, "at": "", "cost": "0", "items": [], "ended_at": None}
    transcript = {"last_event": 9, "root": begun, "usage": [], "notes": []}
    ask = {"seq": 4, "type": "turn.asked", "task": "t", "ask": "a", "turn": 1, "data": {"responder": "LLM"}}
    kinds = ("usage.settled", "limits.changed"), ("ask.parked",), ("ask.parked", "ask.resolved"), ("run.failed",)

    found = call(
        page,
        "conversation.js",
        """(m, [transcript, cases]) => cases.map((events) => {
            const run = m.Conversation.of(transcript);
            run.recall(events);
            return [run.lastSaid, run.entries.length, run.asked?.responder ?? null, run.asked?.isParked ?? false];
        })""",
        [transcript, [[ask, *({"seq": 5, "type": one} for one in kind)] for kind in kinds]],
    )

    assert found == [[2, 1, "LLM", False], [2, 1, "LLM", True], [2, 1, "LLM", False], [2, 1, None, False]]


def test_pieces_of_an_answer_that_were_lost_leave_a_mark_and_none_is_shown_twice(page: Page) -> None:
    pieces = [(1, 0, "Two "), (1, 4, "her"), (1, 4, "her"), (1, 12, "at dawn"), (2, 0, "One "), (2, 2, "e swan")]
    # An offset counts characters, and JavaScript's strings count an emoji twice.
    swan = "\N{SWAN}"
    pieces += [(3, 0, swan), (3, 1, f" {swan}"), (3, 2, f"{swan} swim"), (3, 8, "s")]

    texts = call(
        page,
        "conversation.js",
        """(m, pieces) => {
            const run = new m.Conversation();
            return pieces.map(([attempt, offset, text]) => {
                run.take({ type: "llm.delta", ask: "a", attempt, offset, text });
                return run.picture().live.text;
            });
        }""",
        pieces,
    )

    assert texts[:6] == ["Two ", "Two her", "Two her", "Two her … at dawn", "One ", "One swan"]
    assert texts[6:] == [swan, f"{swan} {swan}", f"{swan} {swan} swim", f"{swan} {swan} swims"]


def test_whole_numbers_stay_exact_whatever_their_size(page: Page) -> None:
    numbers = '"id":1234567890123456789,"below":-9007199254740993,"n":12,"cost":0.1234567890123456789'
    text = f'{{{numbers},"text":"1234567890123456789"}}'

    written, kinds, pretty = call(
        page,
        "../../lib/json.js",
        """(m, text) => {
            const read = m.parseJson(text);
            return [m.writeJson(read), Object.values(read).map((one) => typeof one), m.writeJson([read.id], 2)];
        }""",
        text,
    )

    assert written == text.replace("0.1234567890123456789", "0.12345678901234568")
    assert kinds == ["bigint", "bigint", "number", "number", "string"]
    assert pretty == "[\n  1234567890123456789\n]"


def test_every_kind_of_waiting_has_a_sentence_and_its_action(page: Page) -> None:
    kinds = typing.get_args(WaitKind)
    given = [{"kind": kind, "sentence": f"It waits for {kind}.", "task": "desk", "agent": "Ada"} for kind in kinds]
    given += [
        {"kind": "parked", "sentence": "", "agent": "Ada", "tool": "pay", "reason": "attempts_exhausted"},
        {"kind": "budget", "sentence": "A budget.", "scope": "run"},
        {"kind": "retry", "sentence": "Again at 2026-11-21 11:59:30 UTC.", "due_at": "2026-11-21T11:59:30Z"},
        {"kind": "later_kind"},
    ]

    found = call(page, "waiting.js", "(m, all) => all.map((one) => [m.sentenceOf(one), m.actionFor(one)])", given)

    told = dict(zip(kinds, found, strict=False))
    assert told["human"] == ["A person has to answer the question of the task desk.", "answer"]
    assert told["parked"][1] == "resolve" and told["parked"][0].startswith("No one knows whether an answer by Ada")
    for kind in set(kinds) - {"human", "parked"}:
        assert told[kind] == [f"It waits for {kind}.", None]
    assert found[-4][0].startswith(
        "Worker after worker was lost, or could not write the outcome, at a call of the tool pay by Ada"
    )
    assert found[-3] == ["A budget.", "limits"]
    assert found[-2][0].startswith("Again at ") and "UTC" not in found[-2][0] and ":59:30" in found[-2][0]
    assert found[-1] == ["It waits: later_kind.", None]


def test_each_end_has_advice_and_only_what_can_help_is_offered(page: Page) -> None:
    runs = [
        {"status": "completed", "status_code": "DONE"},
        {"status": "completed", "status_code": "MAX_COST", "stopped": {"message": "stopped"}},
        {"status": "failed", "status_code": "TIMEOUT"},
        {"status": "failed", "status_code": "INF_LOOP"},
        {"status": "failed", "status_code": "ERROR", "error": {"kind": "auth"}},
        {"status": "failed", "status_code": "ERROR", "error": {"kind": "a later one"}},
        {"status": "cancelled", "status_code": "KILL"},
    ]

    found = call(page, "waiting.js", "(m, all) => all.map((run) => m.adviceFor(run))", runs)

    both = ["retry", "fork"]
    assert [one and one["actions"] for one in found] == [None, ["fork"], both, ["fork"], both, both, None]
    assert "refused the key" in found[4]["text"]
    assert "continues where it failed" in found[5]["text"]


def test_tools_are_told_apart_from_text_and_broken_arguments_stay_as_they_are(page: Page) -> None:
    look = {"$tool": "look", "request": "look", "purpose": "To look.", "order": 17}
    documents = [
        {"content": '{"request": "look", "order": 17}', "metadata": {"sender": "LLM"}, "tool_messages": [look]},
        {"content": "", "oai_tool_calls": [{"id": "c1", "function": {"name": "add", "arguments": "{broken"}}]},
        {"content": '{"a": 1}', "oai_tool_id2result": {"c1": "3"}},
    ]

    found = call(page, "document.js", "(m, all) => all.map((one) => m.partsOf(one))", documents)

    assert (found[0]["text"], found[0]["tools"]) == (
        "",
        [{"id": None, "name": "look", "fields": {"order": 17}, "raw": None}],
    )
    assert found[1]["tools"] == [{"id": "c1", "name": "add", "fields": None, "raw": "{broken"}]
    assert (found[2]["value"], found[2]["results"]) == ({"a": 1}, [{"id": "c1", "text": "3"}])


def test_the_marks_of_an_axis_are_round_and_spans_stay_in_the_window(page: Page) -> None:
    marks = call(page, "timeline_rows.js", "(m) => [m.ticks(4.3), m.ticks(0.07), m.ticks(0), m.ticks(3600)]")
    spans = call(
        page,
        "timeline_rows.js",
        "(m) => m.placed([{ start: 0, seconds: 2 }, { start: 2, seconds: 8 }, { start: 20, seconds: 1 }], 1, 4)",
    )

    assert marks == [[0, 1, 2, 3, 4], [0, 0.02, 0.04, 0.06], [0], [0, 1000, 2000, 3000]]
    assert [(span["x"], span["width"]) for span in spans] == [(0, 250), (250, 750)]
