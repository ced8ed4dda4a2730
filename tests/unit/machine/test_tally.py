"""Counting messages, and telling the commonest."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from turnwise.tasks.tally import Tally


@given(st.lists(st.sampled_from("abcdefgh"), max_size=60), st.integers(0, 10))
def test_the_highest_counts_are_those_of_a_plain_counter(keys: list[str], n: int) -> None:
    tally, counter = Tally(), Counter(keys)
    for key in keys:
        tally.add(key)
    commonest = tally.commonest(n)
    assert [count for _, count in commonest] == [count for _, count in counter.most_common(n)]
    assert all(counter[key] == count for key, count in commonest)
    assert len({key for key, _ in commonest}) == len(commonest)
