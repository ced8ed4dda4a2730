"""Records of rows with many fields."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from turnwise.base.waits import HumanWait
from turnwise.record.database.rows import AGENT, ASK, RUN, as_row, field_names
from turnwise.record.values.kept_errors import KeptError
from turnwise.record.values.records import AgentRecord, AskRecord, FrameRecord, ReplyRecord, RunRecord
from turnwise.record.values.row_record import RowRecord


@pytest.mark.parametrize(("kind", "columns"), [(RunRecord, RUN), (AskRecord, ASK), (AgentRecord, AGENT)])
def test_a_row_has_the_values_of_all_fields(kind: type[RowRecord], columns: tuple[object, ...]) -> None:
    assert set(field_names(columns)) == {field.name for field in fields(kind)}  # type: ignore[arg-type]


def test_a_changed_row_is_another_and_the_first_one_stays() -> None:
    agent = AgentRecord(key="desk")
    longer = agent.changed(history_len=2)

    assert (agent.history_len, longer.history_len, longer.key) == (0, 2, "desk")
    assert longer == AgentRecord(key="desk", history_len=2)
    assert longer != agent
    with pytest.raises(FrozenInstanceError):
        longer.history_len = 3  # type: ignore[misc]


def test_a_row_to_be_written_has_columns_and_json_in_place_of_typed_values() -> None:
    wait, error = HumanWait(question="q", task="desk"), KeptError(found={"type": "ValueError"})
    run = RunRecord.of({field.name: None for field in fields(RunRecord)}).changed(waiting_for=wait, error=error)
    ask = AskRecord.of({field.name: None for field in fields(AskRecord)}).changed(candidate=3)
    named = {field.name: None for field in fields(ReplyRecord)}
    reply = ReplyRecord(**(named | {"error": error}))  # type: ignore[arg-type]

    assert as_row(run)["waiting_for"] == wait.as_json()
    assert as_row(run)["error"] == as_row(reply)["error"] == {"type": "ValueError"}
    assert (as_row(ask)["try_no"], "candidate" in as_row(ask)) == (3, False)
    assert as_row(FrameRecord(no=1, path="desk", state={}), run_id="r") == {
        "no": 1,
        "path": "desk",
        "state": {},
        "run_id": "r",
    }
