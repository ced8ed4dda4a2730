"""The work of a tenant, or of all, over time: samples put together by steps."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from turnwise.errors import PermissionDeniedError
from turnwise.record.database.database import Database
from turnwise.record.database.sample_tables import samples
from turnwise.record.tenants.reach import OneTenant
from turnwise.record.transaction.part import RecordPart, TenantPart
from turnwise.record.upkeep.sampling import COUNTS, FLEET, GAUGES

_NANO = 1_000_000_000
_start, _step = sa.bindparam("start", type_=sa.BigInteger), sa.bindparam("step", type_=sa.BigInteger)
# A tenant that had nothing has no row in a sample.
_fleet, _own = samples.alias("fleet"), samples.alias("own")
_number = (_fleet.c.at - _start) // _step
_SERIES = (
    sa.select(
        _number.label("number"),
        sa.func.sum(_fleet.c.seconds),
        *(sa.func.coalesce(sa.func.sum(_own.c[name]), 0) for name in COUNTS),
        *(sa.func.coalesce(sa.func.max(_own.c[name]), 0) for name in GAUGES),
    )
    .select_from(
        _fleet.outerjoin(
            _own, sa.and_(_own.c.at == _fleet.c.at, _own.c.tenant == sa.bindparam("of_tenant", type_=sa.Text))
        )
    )
    .where(_fleet.c.tenant == FLEET, _fleet.c.at >= _start, _fleet.c.at < sa.bindparam("end", type_=sa.BigInteger))
    .group_by(sa.text("number"))
    .order_by(sa.text("number"))
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesStep:
    """The samples of one step, which cover `seconds`: counts are summed, of gauges it has the highest value."""

    at: int
    seconds: float
    turns: int
    deferrals: int
    ended: int
    failed: int
    calls: int
    unpriced_calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: Decimal
    queued: int
    running: int
    waiting: int
    asking: int
    backlog: int
    in_flight: int


class OwnSeries(TenantPart):
    """Reads the tenant's series."""

    def series(self, start: int, end: int, step: int) -> list[SeriesStep]:
        """Return the tenant's steps from `start` to before `end` for which there are samples."""
        return _series(self._database, self._tenant, start, end, step)


class SeriesOfTenants(RecordPart):
    """Reads the series of tenants within reach, or of all together."""

    def series_of(self, tenant: str | None, start: int, end: int, step: int) -> list[SeriesStep]:
        """Return the steps of a tenant, or with None those of the installation.

        Raises `PermissionDeniedError` for what is out of reach.
        """
        if tenant is None and isinstance(self._reach, OneTenant):
            raise PermissionDeniedError("only an operator sees the series of all tenants together")
        if tenant is not None and not self._reach.includes(tenant):
            raise PermissionDeniedError("only an operator sees the series of another tenant")
        return _series(self._database, FLEET if tenant is None else tenant, start, end, step)


def _series(database: Database, tenant: str, start: int, end: int, step: int) -> list[SeriesStep]:
    given = {"start": start, "end": end, "step": step, "of_tenant": tenant}
    with database.read() as connection:
        return [_made(start, step, row) for row in connection.execute(_SERIES, given)]


def _made(start: int, step: int, row: Any) -> SeriesStep:
    number, seconds, *numbers = row
    values = {name: int(value) for name, value in zip((*COUNTS, *GAUGES), numbers, strict=True)}
    cost = Decimal(values.pop("cost_nano")) / _NANO
    return SeriesStep(at=start + int(number) * step, seconds=seconds, cost=cost, **values)
