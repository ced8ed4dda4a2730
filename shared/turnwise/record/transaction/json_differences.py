"""The difference between two JSON values, small where little changed."""

from __future__ import annotations

from typing import Any

from turnwise.record.values.records import Json

# How many items a list may lose at its front and still be told from what was added at its end.
_MOST_DROPPED = 2


def difference(old: Any, new: Any) -> Json | None:
    """Return what makes `new` of `old`, as JSON; None if they are equal.

    `{"=": value}` replaces the value; `{"~": {key: difference}, "-": [keys]}` changes an object and takes keys away;
    `{"<": n, "+": [items]}` takes n items from the front of a list and adds some at its end.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        return _of_objects(old, new)
    if old == new:
        return None
    if isinstance(old, list) and isinstance(new, list):
        for dropped in range(min(len(old), _MOST_DROPPED + 1)):
            kept = old[dropped:]
            if new[: len(kept)] == kept:
                return {"<": dropped, "+": new[len(kept) :]}
    return {"=": new}


def changed(old: Any, found: Json | None) -> Any:
    """The value that `difference(old, new)` was made from; `old` is left as it is."""
    if found is None:
        return old
    if "=" in found:
        return found["="]
    if "+" in found:
        return [*old[found["<"] :], *found["+"]]
    gone = set(found.get("-", ()))
    made = {key: value for key, value in old.items() if key not in gone}
    for key, inner in found["~"].items():
        made[key] = changed(old.get(key), inner)
    return made


def _of_objects(old: Json, new: Json) -> Json | None:
    changes: Json = {}
    for key, value in new.items():
        if key not in old:
            changes[key] = {"=": value}
        elif (before := old[key]) is not value and (inner := difference(before, value)) is not None:
            changes[key] = inner
    if old.keys() <= new.keys():
        return {"~": changes} if changes else None
    return {"~": changes, "-": [key for key in old if key not in new]}
