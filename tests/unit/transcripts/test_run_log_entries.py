"""Entries of a run's log and how they are written: table, text, page, and events as a source."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser
from itertools import count
from typing import Any

import pytest
from tests.support.cli import Terminal, terminal

from turnwise import ChatDocMetaData, ChatDocument, Entity, LLMTokenUsage, ToolMessage
from turnwise.base.text import first_line, tsv_field, visible
from turnwise.models.base import LLMFunctionCall, OpenAIToolCall
from turnwise.transcripts.entry import Entry, RunTitle
from turnwise.transcripts.from_events import entries_of
from turnwise.transcripts.message_text import said
from turnwise.transcripts.numbers import seconds, used
from turnwise.transcripts.page.html import TranscriptPage
from turnwise.transcripts.recorder import Recorder
from turnwise.transcripts.sink import written
from turnwise.transcripts.text import Text
from turnwise.transcripts.tsv import Tsv

__all__ = ["terminal"]

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class RefundTool(ToolMessage):
    request: str = "refund"
    purpose: str = "Refund <amount>."
    amount: Any


def call(name: str, id: str = "call_1", **arguments: Any) -> OpenAIToolCall:
    return OpenAIToolCall(id=id, function=LLMFunctionCall(name=name, arguments=arguments))


def document(content: str = "", sender: Entity = Entity.LLM, **fields: Any) -> ChatDocument:
    return ChatDocument(content=content, metadata=ChatDocMetaData(sender=sender), **fields)


# --- what a message says ----------------------------------------------------------------------------------------------


def test_a_tool_in_the_text_is_not_said_twice() -> None:
    words = said(document('Yes: {"request": "refund", "amount": 5}'))

    assert [(tool.name, tool.fields, tool.written) for tool in words.tools] == [("refund", '{\n  "amount": 5\n}', True)]
    assert words.text == 'Yes: {"request": "refund", "amount": 5}'
    assert (words.fields.tool_type, words.fields.tool) == ("TOOL", "refund")


def test_a_tool_that_a_handler_attached_is_said() -> None:
    words = said(document("", Entity.AGENT, tool_messages=[RefundTool(amount=5)]))

    assert words.text == 'refund { "amount": 5 }'
    assert (words.fields.tool_type, words.fields.tool) == ("TOOL", "refund")


def test_a_tool_with_a_value_that_no_json_expresses_is_shown_as_it_calls_itself() -> None:
    words = said(document("", Entity.AGENT, tool_messages=[RefundTool(amount=START.tzinfo)]))

    assert words.tools[0].fields == '{\n  "amount": "datetime.timezone.utc"\n}'


def test_api_calls_and_their_results_are_said() -> None:
    calls = said(document("One moment.", oai_tool_calls=[call("refund", amount=5)]))
    result = said(document("", Entity.AGENT, oai_tool_id2result={"call_1": "paid", "call_2": "refused"}))

    assert calls.text == 'One moment.\nrefund { "amount": 5 }'
    assert result.text == "call_1: paid\ncall_2: refused"


def test_a_message_is_said_as_it_was_when_it_was_logged() -> None:
    changing = document("before")
    words = said(changing)

    changing.content = "after"

    assert words.text == "before"


# --- entries ----------------------------------------------------------------------------------------------------------


def test_an_answer_names_the_number_of_what_it_answers() -> None:
    recorder, question = Recorder(), document("?", Entity.USER)
    answer = document("!")
    answer.answers(question)

    first = recorder.message("given", "desk", 0, "User", question, START)
    second = recorder.message("taken", "desk", 0, "LLM", answer, START)

    assert (first.number, first.parent, second.number, second.parent) == (1, None, 2, 1)


def test_a_call_of_a_model_is_counted_once_however_often_its_answer_is_logged() -> None:
    recorder, answer = Recorder(), document("DO-NOT-KNOW")
    answer.metadata.usage = LLMTokenUsage(prompt_tokens=10, cost=Decimal("0.01"), calls=1)

    entries = [
        recorder.message("rejected", "desk", 0, "LLM", answer, START),
        recorder.message("taken", "desk", 0, "LLM", answer, START),
        recorder.message("given", "desk/sub", 0, "User", ChatDocument.deepcopy(answer), START),
    ]

    assert [entry.usage is not None for entry in entries] == [True, False, False]


# --- events -----------------------------------------------------------------------------------------------------------


_numbers = count(1)


def event(type: str, task: str | None = "desk", **data: Any) -> dict[str, Any]:
    body = {"seq": next(_numbers), "type": type, "at": START.isoformat(), "turn": 1, "data": data}
    return {**body, "task": task} if task else body


def body(content: str, sender: str = "LLM", **fields: Any) -> dict[str, Any]:
    return {"content": content, "metadata": {"id": f"doc-{content}", "sender": sender}, **fields}


def test_events_become_entries_without_the_bookkeeping() -> None:
    events = [
        event("run.accepted", None),
        event("task.started", document=body("hello", "User")),
        event("turn.asked", responder="LLM"),
        event("turn.rejected", responder="LLM", document=body("DO-NOT-KNOW")),
        event("usage.settled", prompt_tokens=1),
        event("turn.none"),
        event("turn.taken", responder="LLM", document=body("__PASS__"), passed=True),
        event("turn.taken", responder="LLM", document=body("DO-NOT-KNOW", "User"), null=True),
        event("task.finished", status="DONE"),
        event("run.completed", None, status="DONE"),
    ]

    kinds = [entry.kind for entry in entries_of(events)]

    assert kinds == ["started", "given", "rejected", "none", "passed", "null", "finished", "ended"]


def test_the_error_that_ended_a_run_is_in_its_last_entry() -> None:
    error = {"type": "ValueError", "message": "it broke", "place": "handler"}

    (entry,) = entries_of([event("run.failed", None, status="ERROR", error=error)])

    assert (entry.status, entry.error) == ("ERROR", ("ValueError", "it broke"))


def retried(*undone: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a run whose end, `undone`, was taken back while its second call of a sub-task was open."""
    answer = body("yes")
    answer["metadata"]["usage"] = {"prompt_tokens": 10, "cost": "0.01", "calls": 1}
    begun = [
        event("task.started", document=body("hello", "User")),
        event("task.started", "desk/sub"),
        event("task.finished", "desk/sub", status="DONE"),
        event("task.started", "desk/sub"),
        event("turn.taken", "desk/sub", responder="LLM", document=answer),
        event("turn.asked", "desk/sub", responder="Agent"),
    ]
    for seq, one in enumerate([*begun, *undone], 1):
        one["seq"] = seq
    return [*begun, *undone, event("run.retried", None, to=len(begun)) | {"seq": len(begun) + len(undone) + 1}]


TIMED_OUT = ("task.finished", "desk/sub"), ("task.finished", "desk"), ("run.failed", None)


@pytest.mark.parametrize("undone", [TIMED_OUT, TIMED_OUT[-1:]])
def test_a_retry_opens_the_tasks_again_whose_end_it_takes_back(undone: tuple[tuple[str, str | None], ...]) -> None:
    events = retried(*(event(type, task, status="TIMEOUT") for type, task in undone))

    entries = list(entries_of(events))

    again = [entry for entry in entries if entry.kind == "continued"]
    assert [entry.path for entry in again] == ["desk", "desk/sub"]
    assert entries[-2:] == again
    lines = [Text(color=False, times=False).part(entry).strip() for entry in again]
    assert lines == ["desk continues after a retry", "desk/sub continues after a retry"]
    assert "\tcontinued\t" in Tsv().part(again[0])


def test_a_run_that_is_retried_twice_opens_its_tasks_twice() -> None:
    first = retried(event("run.failed", None, status="ERROR"))
    last = first[-1]["seq"]
    again = [event("run.failed", None, status="ERROR"), event("run.retried", None, to=last)]
    numbered = [one | {"seq": seq} for seq, one in enumerate(again, last + 1)]

    kinds = [entry.kind for entry in entries_of([*first, *numbered])]

    assert kinds[-6:] == ["ended", "continued", "continued", "ended", "continued", "continued"]


def test_a_run_that_failed_before_its_first_question_begins_anew_after_a_retry() -> None:
    events = [
        event("task.started"),
        event("run.failed", None, status="ERROR"),
        event("run.retried", None, to=0),
        event("task.started"),
        event("task.finished", status="DONE"),
    ]

    assert [entry.kind for entry in entries_of(events)] == ["started", "ended", "started", "finished"]


def test_a_tool_of_a_class_that_is_not_here_shows_its_fields() -> None:
    tool = {"$tool": "refund", "request": "refund", "purpose": "Refund.", "id": "", "amount": 5}

    (entry,) = entries_of([event("turn.taken", responder="Agent", document=body("", "Agent", tool_messages=[tool]))])

    assert entry.said is not None
    assert entry.said.tools[0].fields == '{\n  "amount": 5\n}'


# --- forms ------------------------------------------------------------------------------------------------------------


def entry(kind: Any = "taken", content: str = "hi", path: str = "desk", after: float = 0, **fields: Any) -> Entry:
    at = START + timedelta(seconds=after)
    if kind in ("started", "none", "finished", "ended"):
        return Entry(kind=kind, at=at, path=path, **fields)
    words = fields.pop("words", None) or said(document(content))
    return Entry(kind=kind, at=at, path=path, responder=fields.pop("responder", "LLM"), said=words, number=1, **fields)


class Balanced(HTMLParser):
    """Reads a page, and fails where an element is closed that is not open."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(*entries: Entry) -> str:
    return "".join(written(TranscriptPage(), RunTitle(task="desk"), entries))


@pytest.mark.parametrize(
    "entries",
    [
        (),
        (entry("started"), entry(), entry("finished", status="DONE"), entry("ended", status="DONE")),
        (entry("started"), entry("started", path="desk/sub"), entry("ended", status="ERROR", error=("E", "<b>"))),
        (entry("started"), entry("started", path="desk/sub"), entry("none", path="desk/sub")),
        (entry("ended", status="ERROR", error=("ApplicationError", "no such task")),),
    ],
)
def test_every_element_of_a_page_is_closed_however_the_run_ends(entries: tuple[Entry, ...]) -> None:
    assert Balanced(page_of(*entries)).open == []


@pytest.mark.parametrize(
    "hostile", ["</pre><img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", '"><a>']
)
def test_no_text_becomes_an_element(hostile: str) -> None:
    tool = document(
        hostile, Entity.AGENT, tool_messages=[RefundTool(request=hostile, amount=hostile)], reasoning=hostile
    )
    entries = [
        entry("started", path=hostile.replace("/", "")),
        entry(words=said(tool), responder=hostile),
        entry("ended", status="ERROR", error=("ValueError", hostile)),
    ]

    seen = Balanced(
        "".join(written(TranscriptPage(), RunTitle(task=hostile, run=hostile, state=hostile), entries))
    ).seen

    assert (seen.count("script"), seen.count("img"), seen.count("a")) == (1, 0, 0)


def test_a_page_asks_for_nothing_from_elsewhere() -> None:
    page = page_of(entry("started"), entry(content="see http://example.com/x.png"))

    head = page.partition("<main>")[0]
    assert "default-src 'none'" in head.replace("&#x27;", "'")
    assert [word for word in ("http:", "https:", "url(", "@import", " src=") if word in head] == []
    assert "href" not in page


def test_a_text_that_is_json_is_shown_indented() -> None:
    assert "[\n  1,\n  {\n    &quot;a&quot;: 2\n  }\n]" in page_of(entry("started"), entry(content='[1, {"a": 2}]'))


@pytest.mark.parametrize("undone", [TIMED_OUT, TIMED_OUT[-1:]])
def test_a_page_goes_on_after_a_retry_with_the_sums_from_before(undone: tuple[tuple[str, str | None], ...]) -> None:
    events = retried(*(event(type, task, status="TIMEOUT") for type, task in undone))
    last = events[-1]["seq"]
    ends = [
        event("task.finished", "desk/sub", status="DONE"),
        event("task.finished", "desk", status="DONE"),
        event("run.completed", None, status="DONE"),
    ]

    page = page_of(*entries_of([*events, *(one | {"seq": seq} for seq, one in enumerate(ends, last + 1))]))

    assert Balanced(page).open == []
    assert page.count("continues after a retry") == 2
    assert 'sub ended: <b>DONE</b><span class="totals">1 messages · 10 tokens · $0.01' in page
    assert page.count("The run ended") == 2


def test_a_page_adds_up_what_the_calls_have_used() -> None:
    usage = LLMTokenUsage(prompt_tokens=1000, completion_tokens=50, cost=Decimal("0.0125"))
    unpriced = LLMTokenUsage(prompt_tokens=10, cost=None)

    page = page_of(
        entry("started"),
        entry(usage=usage),
        entry(usage=unpriced, after=1),
        entry("finished", status="DONE", after=2),
        entry("ended", status="DONE", after=2.5),
    )

    assert "2 messages · 1,060 tokens · $0.0125+? · 2.50 s" in page


def test_a_row_is_a_line_and_can_be_undone() -> None:
    text = "a\tb\nc\\d"

    (row,) = Tsv().part(entry(content=text)).splitlines()

    cell = row.split("\t")[9]
    assert cell == tsv_field(text) == "a\\tb\\nc\\\\d"
    assert cell.encode().decode("unicode_escape") == text


def test_a_line_of_text_says_what_a_call_has_used() -> None:
    usage = LLMTokenUsage(prompt_tokens=1000, completion_tokens=50, cost=Decimal("0.0125"))

    assert Text(color=False, times=False).part(entry(usage=usage)) == "* (desk) LLM [1,050 tokens, $0.0125]: hi\n"


# --- small things -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x1b[0m", "a\\x1b[0m"),
        ("a\u202eb", "a\\u202eb"),
        ("a\r\nb\rc\td", "a\nb\nc\td"),
        ("größe 🐦 שלום", "größe 🐦 שלום"),
    ],
)
def test_what_can_not_be_seen_is_made_visible_and_the_rest_kept(text: str, expected: str) -> None:
    assert visible(text) == expected


def test_a_first_line_is_cut_with_an_ellipsis() -> None:
    assert first_line("one\n two   three", 9) == "one two …"
    assert len(first_line("word " * 10_000)) <= 160


@pytest.mark.parametrize("width", [0, 1, 2, 20])
@pytest.mark.parametrize("text", ["", "a", "ab", "a b", " \n" * 500 + "a", "a" + " " * 500, "a" + " " * 500 + "b" * 19])
def test_a_first_line_holds_as_much_of_a_text_as_there_is_room_for(text: str, width: int) -> None:
    whole = " ".join(text.split())
    assert first_line(text, width) == (whole if len(whole) <= width else whole[: max(width - 1, 0)] + "…")


@pytest.mark.parametrize(("duration", "words"), [(0.012, "0.01 s"), (75, "75.00 s"), (125, "2:05"), (7325, "2:02:05")])
def test_a_duration_is_in_the_unit_that_suits_it(duration: float, words: str) -> None:
    assert seconds(duration) == words


def test_a_call_without_tokens_and_cost_is_not_told() -> None:
    assert used(LLMTokenUsage(calls=1)) == ""


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [("--html", "--tsv"), ("--json", "--text"), ("-o", "file")])
def test_options_of_show_that_do_not_go_together_are_bad_usage(terminal: Terminal, options: tuple[str, ...]) -> None:
    assert "give one of --html, --text, --tsv and --timeline" in terminal.run("show", "run_1", *options, code=2)
