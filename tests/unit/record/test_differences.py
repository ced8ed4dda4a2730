"""The changes from one JSON value to the next."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turnwise.record.transaction.json_differences import changed, difference

_scalars = st.none() | st.integers() | st.text(max_size=3) | st.floats(allow_nan=False)
values: st.SearchStrategy[Any] = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab=~-+<", max_size=2), inner, max_size=4),
    max_leaves=12,
)


@given(values, values)
def test_a_difference_makes_the_new_value_of_the_old_one(old: Any, new: Any) -> None:
    before = copy.deepcopy(old)

    found = difference(old, new)

    assert changed(old, json.loads(json.dumps(found))) == new
    assert old == before
    assert (found is None) == (old == new)


def test_a_list_that_goes_on_is_told_by_what_was_added() -> None:
    old: dict[str, Any] = {"hashes": [str(n) for n in range(50)], "turn": 50}

    found = difference(old, {"hashes": [*old["hashes"][1:], "50"], "turn": 51})

    assert found == {"~": {"hashes": {"<": 1, "+": ["50"]}, "turn": {"=": 51}}}
