"""The file of a batch: a line of JSON for each item, checked as a whole before anything is sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turnwise.errors import InvalidRequestError

Item = dict[str, Any]
# An item in a file, by the names that the API has for its fields.
FIELDS = ("message", "id", "limits", "priority", "tags", "metadata")
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


def checked(path: Path) -> ItemsFile:
    """Read the whole file; raises `InvalidRequestError`, with the number of the line, for what is not an item."""
    digest, ids, count = hashlib.sha256(), dict[str, int](), 0
    for no, line in _lines(path):
        digest.update(line + b"\n")
        name = _item(path, no, line).get("id")
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
    if not isinstance(item.get("id", ""), str):
        raise _wrong(path, no, "its id is no text")
    return item


def _wrong(path: Path, no: int, what: str) -> InvalidRequestError:
    return InvalidRequestError(f"{path}, line {no}: {what}; nothing was submitted")
