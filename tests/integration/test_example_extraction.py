"""The example of 200 documents that are read as a batch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from examples.extraction import documents, extraction
from tests.support.examples import output, served, started
from tests.support.results import given


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripted model answers."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_two_hundred_documents_are_read_as_a_batch(tmp_path: Path) -> None:
    file, results = tmp_path / "invoices.jsonl", tmp_path / "results.jsonl"
    file.write_text(output(started("extraction/documents.py")))
    assert len(file.read_text().splitlines()) == 200

    with served(extraction.app, tmp_path) as client:
        command = [
            "batch",
            "extract",
            str(file),
            "--output",
            str(results),
            "--max-cost",
            "1.00",
            "--url",
            client.base_url,
        ]
        subprocess.run([sys.executable, "-m", "turnwise.cli.main", *command], check=True, capture_output=True)

    items = [json.loads(line) for line in results.read_text().splitlines()]
    assert [item["id"] for item in items] == [f"doc-{number}" for number in range(1, 201)]
    assert {item["status"] for item in items} == {"completed"}
    assert [item["result"] for item in items] == [f"INV-{number:04}" for number in range(1, 201)]
    totals = output(started("extraction/totals.py", str(results))).splitlines()
    assert [line.split()[-2] for line in totals] == ["24355.00", "25460.00", "24715.00", "24130.00", "98660.00"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"total": "1.00"}, "The lines add up to"),
        ({"customer": "Someone Else"}, "'Someone Else' is not in the invoice"),
        ({"number": "INV-9999"}, "'INV-9999' is not in the invoice"),
    ],
)
def test_fields_that_do_not_fit_the_document_are_refused(wrong: dict[str, str], told: str) -> None:
    text = documents.invoice(7)
    reader = extraction.extract().agent
    reader.agent_response(reader.create_user_response(text))
    fields = json.loads(extraction.scripted_model(text)) | wrong

    assert told in given(reader.agent_response(json.dumps(fields))).content
