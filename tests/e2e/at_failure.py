"""The state of the installations that run while a test fails: what their records say, and where their threads are.

Without it, a run that never ends leaves nothing but the name of the test.
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.pool import NullPool
from tests.e2e.installation import Distributed, Embedded
from tests.e2e.processes import Process

from turnwise.record.database.schema import asks, events, runs

_RUNS, _ASKS, _EVENTS = 5, 10, 4
_OUTPUT = 12_000  # characters of each process


def state_of(installation: Distributed | Embedded) -> str:
    """Return the runs that have not ended, by its record, and the end of what each of its processes has printed.

    Processes that can (see `Process.tell_threads`) have printed where their threads are.
    """
    return "\n".join([*_record(installation.database), *_output(installation.each_process())])


def _record(database: str) -> Iterator[str]:
    # All columns that are there: an earlier version may have made the tables.
    engine = sa.create_engine(database.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)
    unended = sa.select(sa.text("*")).select_from(runs).where(runs.c.finished_at.is_(None)).limit(_RUNS)
    open_asks = sa.select(sa.text("*")).select_from(asks).where(asks.c.status != "answered").limit(_ASKS)
    try:
        with engine.connect() as connection:
            found = connection.execute(unended).mappings().all()
            yield from (f"run that has not ended: {dict(run)}" for run in found)
            yield from (f"ask: {dict(ask)}" for ask in connection.execute(open_asks).mappings())
            for run in found:
                of_run = sa.select(sa.text("*")).select_from(events).where(events.c.run_id == run["id"])
                last = connection.execute(of_run.order_by(events.c.seq.desc()).limit(_EVENTS)).mappings()
                yield from (f"event: {dict(event)}" for event in reversed(last.all()))
    except sa.exc.SQLAlchemyError as error:
        yield f"the record cannot be read: {error}"
    finally:
        engine.dispose()


def _output(processes: list[Process]) -> Iterator[str]:
    for process in processes:
        process.tell_threads()
        yield f"--- {process.name} ({process.pid}):\n{process.output()[-_OUTPUT:]}"
