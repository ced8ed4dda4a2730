"""Batches on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from turnwise.base.text import visible
from turnwise.cli.text.ages import age, age_of, since
from turnwise.cli.text.console import console
from turnwise.cli.text.messages import as_json as json_of
from turnwise.cli.text.messages import money

if TYPE_CHECKING:
    from turnwise.api.batches import BatchView

_COLUMNS = ("batch", "name", "task", "status", "done", "failed", "left", "cost", "age", "took")


def print_batches(batches: Iterable[BatchView]) -> None:
    """A table, one batch per line."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in _COLUMNS:
        table.add_column(column, no_wrap=column == "batch")
    for one in batches:
        counts = one.counts
        done = counts.completed + counts.limited
        left = one.total - done - counts.failed - counts.cancelled - counts.deleted
        row = (one.id, one.name or "-", one.task or "-", one.status, str(done), str(counts.failed), str(left))
        table.add_row(*(Text(visible(cell)) for cell in (*row, _cost(one), age_of(_created(one)), _took(one))))
    console().print(table)


def print_batch(batch: BatchView) -> None:
    """A batch, its items by status and what it has spent."""
    counts = [f"{n} {name.replace('_', ' ')}" for name, n in json_of(batch.counts).items() if n]
    used = batch.usage
    most = batch.budget.max_tokens
    tokens = f"{used.prompt_tokens + used.completion_tokens}" + ("" if most is None else f" of {most}")
    lines = [
        f"{batch.id}  {batch.name or ''}".rstrip(),
        f"task {batch.task or 'several'}  {batch.status}  {batch.concurrency} at a time",
        f"{batch.total} items: {', '.join(counts) or 'none'}",
        f"cost {_cost(batch)}  tokens {tokens}  calls {used.calls}",
        f"opened {age_of(_created(batch))} ago  took {_took(batch)}",
    ]
    if batch.stopped is not None:
        lines.append(f"The limit of {batch.stopped} was reached.")
    if batch.expired_at is not None:
        lines.append("It was not sealed in time; more items may have been meant to come.")
    console().print(Text("\n".join(visible(line) for line in lines)))


def _cost(batch: BatchView) -> str:
    most = batch.budget.max_cost
    return money(batch.usage.cost) if most is None else f"{money(batch.usage.cost)} of {money(most)}"


def _created(batch: BatchView) -> str:
    return batch.created_at.isoformat()


def _took(batch: BatchView) -> str:
    seconds = since(_created(batch), batch.finished_at)
    return "-" if seconds is None else age(seconds)
