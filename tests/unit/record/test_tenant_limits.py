"""The limits of a tenant, where it has some of its own."""

from __future__ import annotations

import pytest

from turnwise.record.tenants.tenant import TenantLimits


@pytest.mark.parametrize(
    ("own", "setting", "most"), [(None, None, None), (None, 5, 5), (3, 5, 3), (3, None, 3), (0, 5, 0)]
)
def test_the_own_limit_of_unfinished_runs_comes_before_the_setting(
    own: int | None, setting: int | None, most: int | None
) -> None:
    assert TenantLimits(max_unfinished_runs=own).most_unfinished_runs(setting) == most
