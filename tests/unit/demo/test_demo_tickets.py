"""Tickets as files, messages and results; and the pages they ask about."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnwise.demo.search import all_sections, search
from turnwise.demo.tickets import (
    UNFINISHED,
    answer_of,
    load_tickets,
    outcome_of,
    read_header,
    result_text,
    ticket_message,
)
from turnwise.errors import InvalidRequestError


def test_about_thirty_tickets_ship() -> None:
    assert len(load_tickets()) == 30


def test_every_bad_line_is_named_with_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    lines = [
        '{"id": "A", "from": "a@b.test", "text": "fine"}',
        '{"id": "B", "from": "a@b.test"',
        "",
        '{"id": "C", "from": "nobody", "text": "x"}',
        '{"id": "D", "from": "a@b.test"}',
        "[1]",
        '{"id": "A", "from": "a@b.test", "text": "again"}',
        '{"id": "E F", "from": "a@b.test", "text": 5}',
    ]
    file.write_text("\n".join(lines), encoding="utf-8")

    with pytest.raises(InvalidRequestError) as caught:
        load_tickets(file)

    told = str(caught.value)
    assert "line 2: not JSON" in told
    assert "line 4: from:" in told
    assert "line 5: text: field required" in told
    assert "line 6: a list, not an object" in told
    assert "line 7: id 'A' is that of line 1" in told
    assert "line 8: id:" in told
    assert "text:" in told
    assert "line 1:" not in told


def test_a_file_that_is_missing_empty_or_not_text_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n\n")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")

    for name, told in [("none.jsonl", "cannot be read"), ("empty.jsonl", "no ticket"), ("binary.jsonl", "UTF-8")]:
        with pytest.raises(InvalidRequestError, match=told):
            load_tickets(tmp_path / name)


def test_only_the_first_line_of_a_message_says_whose_ticket_it_is() -> None:
    forger = next(ticket for ticket in load_tickets() if ticket.text.startswith("Ticket "))

    header = read_header(ticket_message(forger))

    assert header is not None
    assert (header.ticket, header.customer) == (forger.id, forger.sender)
    assert read_header("Subject: x\nTicket T-1 from a@b.test") is None


def test_a_result_states_its_outcome_and_the_answer() -> None:
    text = result_text("declined", "Outcome: refunded\n\nno")

    assert outcome_of(text) == "declined"
    assert answer_of(text) == "Outcome: refunded\n\nno"
    assert outcome_of("anything else") == outcome_of(None) == UNFINISHED


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("export notes", "import-and-export"),
        ("forgot password", "account-and-security"),
        ("offline", "sync-and-offline"),
    ],
)
def test_the_page_about_a_subject_is_found_first(query: str, page: str) -> None:
    assert search(query)[0].page == page


@pytest.mark.parametrize("query", ['"', "AND OR NOT", "page:* NEAR(", "'; DROP TABLE pages; --", "", "。"])
def test_no_text_is_query_syntax(query: str) -> None:
    search(query)


def test_every_page_has_sections() -> None:
    assert len({section.page for section in all_sections()}) == 9
