"""The work of `turnwise batch`: a file sent in parts, followed to its end, its results written."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from turnwise.base.text import visible_json
from turnwise.cli.batch.items_file import Item, ItemsFile
from turnwise.cli.batch.patience import patiently
from turnwise.cli.batch.progress import BatchProgressBar
from turnwise.cli.group import FAILED, STOPPED
from turnwise.cli.output_file import written
from turnwise.cli.text.messages import as_json as json_of
from turnwise.cli.text.messages import money
from turnwise.errors import InvalidRequestError

if TYPE_CHECKING:
    from turnwise.api.batches import BatchView
    from turnwise.client import Client

# Seconds between two looks: at first, and at most.
_FIRST_LOOK, _LAST_LOOK = 0.2, 2.0
_PAGE = 100
# Where a gateway names an item of the part that it was sent.
_ITEM = re.compile(r"\bbody\.items\.(\d+)(?:\.([\w.]+))?")


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """The options of the command that say how the batch is paid, and what is retried.

    `can_wait` is that of items without one of their own.
    """

    name: str
    max_cost: Decimal | None
    max_tokens: int | None
    concurrency: int | None
    can_wait: float | None
    retry_failed: bool
    anew: bool

    @property
    def budgeted(self) -> bool:
        """Return whether the batch has a limit of its own."""
        return bool(self.max_cost or self.max_tokens)


class BatchRun:
    """One file as a batch on a gateway. All of it can be done again: what is there already is not doubled."""

    def __init__(self, client: Client, task: str, file: ItemsFile, options: BatchOptions) -> None:
        self._client = client
        self._task = task
        self._file = file
        self._options = options

    def send(self) -> BatchView:
        """Open the batch, send what it does not have yet, and have what failed continue if that is wished.

        Returns the batch as it is then. Raises `InvalidRequestError` for one that was cancelled before all was sent.
        """
        batch = self.open()
        if batch.cancel_requested_at is not None and batch.total < self._file.count:
            raise InvalidRequestError(
                f"the batch {batch.id} of this file was cancelled; send the file under another --name"
            )
        if batch.total or batch.sealed_at is not None:
            typer.echo(f"Continuing {batch.id}: {batch.total} of {self._file.count} items are there.", err=True)
        else:
            typer.echo(f"The batch is {batch.id}.", err=True)
        batch = self.fill(batch)
        if self._options.retry_failed:
            self.retry(batch)
            batch = patiently(lambda: self._client.batch(batch.id))
        return batch

    def cancel(self) -> BatchView:
        """End the file's batch; raises `InvalidRequestError` if nothing of the file was sent."""
        key = self._key()
        # Opening it would keep an empty batch where there is none.
        all_batches = partial(self._client.all_batches, limit=_PAGE)
        batch = patiently(lambda: next((one for one in all_batches() if one.key == key), None))
        if batch is None or (not batch.total and batch.sealed_at is None):
            raise InvalidRequestError(
                f"no item of {self._file.path} was sent to the task {self._task!r} under the name "
                f"{self._options.name!r}, so there is nothing to cancel; give the --name that it was sent under. "
                "`turnwise batches list` lists all batches"
            )
        return patiently(lambda: self._client.cancel_batch(batch.id))

    def open(self) -> BatchView:
        """Open the file's batch, or find it; raises `InvalidRequestError` if it has other limits than are given now."""
        given = self._options
        key = self._key()
        batch = patiently(
            lambda: self._client.open_batch(
                self._task,
                name=given.name,
                key=key,
                max_cost=given.max_cost,
                max_tokens=given.max_tokens,
                concurrency=given.concurrency,
            )
        )
        self._require_limits(batch)
        return batch

    def fill(self, batch: BatchView) -> BatchView:
        """Send what the batch does not have yet, and seal it.

        Raises `InvalidRequestError` for a file that is not what was checked.
        """
        with BatchProgressBar("Sending", self._file.count) as bar:
            for part in self._file.parts(batch.total) if batch.total < self._file.count else ():
                batch = self._add(batch, list(map(self._patient, part)))
                bar.show(batch.total)
        if batch.sealed_at is not None:
            return batch
        if batch.total != self._file.count:
            raise InvalidRequestError(
                f"{self._file.path} has changed since it was checked: {batch.total} of {self._file.count} items were "
                f"sent; {batch.id} stays open, and `turnwise batches cancel {batch.id}` ends it"
            )
        return patiently(lambda: self._client.seal_batch(batch.id))

    def retry(self, batch: BatchView) -> None:
        """Have the failed items continue, and those that the budget kept back; tells which are refused."""
        given, after = self._options, 0
        while True:
            page = patiently(
                partial(
                    self._client.retry_batch,
                    batch.id,
                    after=after,
                    anew=given.anew,
                    max_cost=given.max_cost,
                    max_tokens=given.max_tokens,
                )
            )
            for refused in page.refused:
                typer.echo(f"{refused.run} is left as it is: {refused.detail}", err=True)
            if page.next_after is None:
                return
            after = page.next_after

    def follow(self, batch: BatchView) -> BatchView:
        """Wait until the batch has ended."""
        pause = _FIRST_LOOK
        with BatchProgressBar(batch.name or batch.id, batch.total) as bar:
            while True:
                batch = patiently(partial(self._client.batch, batch.id))
                bar.show_batch(batch)
                if batch.finished_at is not None and not _active(batch):
                    return batch
                time.sleep(pause)
                pause = min(1.5 * pause, _LAST_LOOK)

    def write(self, batch: BatchView, output: Path | None) -> None:
        """Write a line of JSON for each item, in the order of the file."""
        with written(output) as out:
            after: str | None = "0"
            while after is not None:
                page = patiently(partial(self._client.batch_results, batch.id, after=int(after)))
                out.writelines(visible_json(json_of(result)) + "\n" for result in page.items)
                after = page.next_cursor

    def _add(self, batch: BatchView, items: Sequence[Item]) -> BatchView:
        """Send a part; a refusal, of what only the server can know, names the line of the file."""
        try:
            return patiently(lambda: self._client.add_batch_items(batch.id, batch.total + 1, items))
        except InvalidRequestError as error:
            told = _ITEM.sub(lambda found: _place(batch.total + 1 + int(found[1]), found[2]), str(error))
            if len(items) == 1 and told == str(error):
                told = _place(batch.total + 1, told)
            raise type(error)(
                f"{self._file.path}{', ' if told.startswith('line ') else ': '}{told}; {batch.id} stays open with "
                f"{batch.total} of {self._file.count} items. The same command continues it, and "
                f"`turnwise batches cancel {batch.id}` ends it"
            ) from error

    def _patient(self, item: Item) -> Item:
        """Return the item with the time that its models' calls may wait, if it has none itself."""
        if self._options.can_wait is None:
            return item
        return {**item, "limits": {"can_wait": self._options.can_wait, **(item.get("limits") or {})}}

    def _key(self) -> str:
        """The file's content, its task and the name: the same command finds the same batch, from any machine."""
        from hashlib import sha256

        told = json.dumps([self._task, self._options.name, self._file.digest])
        return f"file-{sha256(told.encode()).hexdigest()}"

    def _require_limits(self, batch: BatchView) -> None:
        given, budget = self._options, batch.budget
        if given.concurrency not in (None, batch.concurrency):
            raise InvalidRequestError(
                f"the batch {batch.id} of this file has the concurrency {batch.concurrency}, which cannot be changed; "
                "leave --concurrency out, or give another --name for another batch"
            )
        has = None if budget.max_cost is None else Decimal(budget.max_cost)
        others = (given.max_cost is not None and (given.max_cost or None) != has) or (
            given.max_tokens is not None and (given.max_tokens or None) != budget.max_tokens
        )
        if others and not given.retry_failed:
            limits = f"max_cost {budget.max_cost or 'none'} and max_tokens {budget.max_tokens or 'none'}"
            raise InvalidRequestError(
                f"the batch {batch.id} of this file has the limits {limits}; add --retry-failed to continue it with "
                "others, or another --name for another batch"
            )


def exit_code(batch: BatchView) -> int:
    """Return 0 if all items completed, 1 if some failed or were cancelled, else 3: a limit ended or kept back some."""
    counts = batch.counts
    if counts.failed or counts.cancelled or counts.deleted or batch.status == "cancelled":
        return FAILED
    return STOPPED if counts.limited or counts.not_started else 0


def sentence(batch: BatchView) -> str:
    """Return the end of a batch in one line."""
    counts = {name.replace("_", " "): n for name, n in json_of(batch.counts).items() if n}
    told = ", ".join(f"{n} {name}" for name, n in counts.items())
    used = batch.usage
    tokens = used.prompt_tokens + used.completion_tokens
    stopped = "" if batch.stopped is None else f" The limit of {batch.stopped} was reached."
    return f"{batch.id} {batch.status}: {told}; {money(used.cost)}, {tokens} tokens.{stopped}"


def _active(batch: BatchView) -> int:
    return batch.counts.queued + batch.counts.running + batch.counts.waiting


def _place(line: int, what: str | None) -> str:
    return f"line {line}" if what is None else f"line {line}: {what}"
