"""The page on porting lists what the table says is accepted without effect, or absent."""

from __future__ import annotations

from tests.porting.names_page import PAGE, filled


def test_the_page_has_the_rows_of_the_table() -> None:
    page = PAGE.read_text()

    assert page == filled(page), "run `python -m tests.porting.names_page`"
    assert "| `agent.openai_assistant` |" in page
