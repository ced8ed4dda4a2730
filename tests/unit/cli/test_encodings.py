"""Output reaches terminals and files of any encoding."""

from __future__ import annotations

import io
import sys

import pytest

from turnwise.cli import main


def test_what_an_encoding_lacks_is_shown_as_an_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    monkeypatch.setattr(main, "app", lambda: print("Zürich →", flush=True))

    main.main()

    assert written.getvalue() == rb"Z\xfcrich \u2192" + b"\n"
