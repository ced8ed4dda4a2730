"""Records of rows with many fields."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from turnwise.record.database.rows import AGENT, ASK, RUN, field_names
from turnwise.record.runs.records import AgentRecord, AskRecord, RunRecord
from turnwise.record.runs.row_record import RowRecord


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
