"""The result of a run, for tests that expect one."""

from __future__ import annotations

from turnwise import ChatDocument


def given(result: ChatDocument | None) -> ChatDocument:
    """The result; fails the test if there is none."""
    assert result is not None, "the run gave no result"
    return result
