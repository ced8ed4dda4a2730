"""A timeline on the terminal and in the page of a run."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from rich.cells import cell_len
from tests.unit.transcripts.test_timeline import BEGUN, claimed, event, read

from turnwise.api.timeline import TimelineView
from turnwise.cli.text.timeline import SIGNS, timeline_lines
from turnwise.timeline.sentences import phrase
from turnwise.timeline.sums import Sums
from turnwise.timeline.views import timeline_view
from turnwise.transcripts.entry import RunTitle
from turnwise.transcripts.page.html import TranscriptPage
from turnwise.transcripts.page.timeline import timeline_section

HOSTILE = "</title></svg><script>alert(1)</script>\x1b[31m"


def view_of(turns: int = 1, name: str = "gpt", limit: int = 60, host: str = "dead") -> TimelineView:
    part = {"kind": "model", "name": name, "at": 0.0, "seconds": 1.0}
    events = [*BEGUN, event(4, "ask.expired", 2.0, worker="w0", host=host, pid=3, claimed_at=1.5)]
    for no in range(turns):
        at = 3.0 + 2 * no
        events.append(event(10 + 2 * no, "turn.replied", at, **claimed(at - 1, part)))
        events.append(event(11 + 2 * no, "turn.asked", at, queue="llm", responder="LLM"))
    items, sums = read(*events, now=5.0 + 2 * turns), Sums()
    for item in items:
        sums.add(item)
    return timeline_view("run_1", "desk", "running", sums, items[:limit], ended=False, next_after=None)


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal_but_the_sentence(width: int) -> None:
    head, summary, *lines = (line.plain for line in timeline_lines(view_of(name="a long name " * 20), width))
    assert summary.startswith("So far it took")
    assert max(cell_len(line) for line in [head, *lines]) <= width
    assert any("lost with dead (pid 3) after 500 ms" in line for line in lines)
    assert any(SIGNS["lost"][0] in line for line in lines)


@pytest.mark.parametrize("width", [80, 120])
def test_wide_characters_count_as_two_cells(width: int) -> None:
    view = view_of(name="モデル" * 30, host="作業員" * 30)
    view.items[0].task = "返金の確認" * 10
    head, _, *lines = (line.plain for line in timeline_lines(view, width))
    assert max(cell_len(line) for line in [head, *lines]) <= width
    assert any("作業員" in line and line.endswith("…") for line in lines)


def test_a_terminal_obeys_nothing_that_strangers_wrote() -> None:
    view = view_of(name=HOSTILE + "\u202e", host=HOSTILE)
    view.task = view.items[0].task = HOSTILE
    lines = [line.plain for line in timeline_lines(view, 120)]
    assert not set("".join(lines)) & set("\x1b\u202e\n")
    assert max(cell_len(line) for line in [lines[0], *lines[2:]]) <= 120
    assert "\\x1b[31m" in lines[0]


def test_of_a_long_run_the_slowest_asks_are_drawn() -> None:
    lines = [line.plain for line in timeline_lines(view_of(turns=200), 100)]
    assert "The 20 slowest of 202; --json has all:" in lines
    assert len(lines) < 40
    assert "The 20 slowest of 202" in timeline_section(view_of(turns=200))


def test_every_kind_has_a_sign_of_its_own_and_words() -> None:
    assert len({sign for sign, _ in SIGNS.values()}) == len(SIGNS)
    assert all(phrase(kind, "") and phrase(kind, "name") for kind in SIGNS)  # type: ignore[arg-type]


def test_the_section_stands_before_the_log_and_obeys_nothing_that_strangers_wrote() -> None:
    page = TranscriptPage(timeline_section(view_of(name=HOSTILE))).head(RunTitle(task="desk"))
    section = page.partition("</header>")[2].partition("<main>")[0]
    assert "Where the time went" in section
    assert "<script" not in section and "\x1b" not in section and "style=" not in section
    found: list[str] = []

    class Labels(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag == "svg" and ("role", "img") in attrs:
                found.append(dict(attrs)["aria-label"] or "")

    Labels().feed(section)
    assert len(found) == 4  # the whole run, its beginning, and two asks
    assert "lost dead (pid 3) 500 ms" in found[2]
