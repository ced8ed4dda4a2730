from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from turnwise.record.values.frame_counts import FrameCounts

_KEYS = st.sampled_from("abcdefgh")


@given(st.dictionaries(_KEYS, st.integers(1, 5)), st.lists(st.tuples(_KEYS, st.integers(0, 5))))
def test_the_highest_counts_are_those_of_a_plain_counter(before: dict[str, int], added: list[tuple[str, int]]) -> None:
    counts, plain = FrameCounts(before), Counter(before)

    for key, n in added:
        highest = counts.add(key, n)
        plain[key] += 1

        assert [count for _, count in highest] == [count for _, count in plain.most_common(n)]
        assert all(plain[name] == count for name, count in highest)
    assert len(counts) == len(plain)
