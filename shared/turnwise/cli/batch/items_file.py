"""The file of a batch: a line of JSON for each item, checked as a whole before anything is sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from turnwise.api.batch_item import BatchItemBody
from turnwise.errors import InvalidRequestError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Item = dict[str, Any]
# An item in a file, by the names that the API has for its fields.
FIELDS = tuple(BatchItemBody.model_fields)
# A part of the file: the gateway takes 1,000 items, and a body of 1 MB unless it is set otherwise.
_MOST_ITEMS, _MOST_BYTES = 1_000, 500_000


@dataclass(frozen=True, kw_only=True)
class ItemsFile:
    """A file that was checked: how many items it has, and a digest of its content."""

    path: Path
    count: int
    digest: str

    def parts(self, after: int) -> Iterator[list[Item]]:
        """Return the items behind the first `after`, in parts that a gateway takes. One part is in memory at a time."""
        part: list[Item] = []
        size = 0
        for no, line in _lines(self.path):
            if no <= after:
                continue
            if part and (len(part) == _MOST_ITEMS or size + len(line) > _MOST_BYTES):
                yield part
                part, size = [], 0
            part.append(_item(self.path, no, line))
            size += len(line)
        if part:
            yield part


def checked(path: Path, *, budgeted: bool = False) -> ItemsFile:
    """Read the whole file; raises `InvalidRequestError`, with the number of the line, for what is not an item.

    `budgeted` says that the items are for a batch with limits of its own.
    """
    digest, ids, count = hashlib.sha256(), dict[str, int](), 0
    for no, line in _lines(path):
        digest.update(line + b"\n")
        item = _item(path, no, line)
        _check(path, no, item, budgeted=budgeted)
        name = item.get("id")
        if name is not None and (other := ids.setdefault(name, no)) != no:
            raise _wrong(path, no, f"the id {name!r} is that of line {other}; ids are unique in a batch")
        count = no
    if not count:
        raise InvalidRequestError(f"{path} has no items; expected a line of JSON for each")
    return ItemsFile(path=path, count=count, digest=digest.hexdigest())


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Return the lines with their numbers, without empty ones at the end; raises `InvalidRequestError`."""
    empty = 0
    try:
        if path.exists() and not path.is_file():
            raise InvalidRequestError(f"{path} is no regular file; it is read twice, so write its lines to one")
        with path.open("rb") as file:
            for no, line in enumerate(file, 1):
                text = line.strip()
                if not text:
                    empty = empty or no
                    continue
                if empty:
                    raise _wrong(path, empty, "it is empty; expected an item, as results have the numbers of lines")
                yield no, text
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be read: {error.strerror}; name a file of items") from error


def _item(path: Path, no: int, line: bytes) -> Item:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        why = "bytes that are no UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise _wrong(path, no, f"it is not JSON ({why})") from error
    item = {"message": found} if isinstance(found, str) else found
    if not isinstance(item, dict):
        raise _wrong(path, no, 'expected {"message": "..."} or a JSON string')
    if unknown := [name for name in item if name not in FIELDS]:
        raise _wrong(path, no, f"it has {unknown[0]!r}; an item may have {', '.join(FIELDS)}")
    if not isinstance(item.get("message"), str) or not item["message"].strip():
        raise _wrong(path, no, "it has no message; say what the task is to work on")
    return item


def _check(path: Path, no: int, item: Item, *, budgeted: bool) -> None:
    """Hold the item against the model by which a gateway takes it; raises `InvalidRequestError`."""
    try:
        found = BatchItemBody.model_validate(item)
        if budgeted:
            found.check_budgeted()
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        raise _wrong(path, no, "; ".join(map(_told, faults))) from error
    except InvalidRequestError as error:
        raise _wrong(path, no, str(error)) from error


def _told(fault: ErrorDetails) -> str:
    where = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        return f"{where}: there is no such field"
    return f"{where}: {fault['msg'].removeprefix('Value error, ')}"


def _wrong(path: Path, no: int, what: str) -> InvalidRequestError:
    return InvalidRequestError(f"{path}, line {no}: {what}; nothing was submitted")
