"""The calls of a streamed answer, put together from their pieces."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


class StreamedCalls:
    """Finds the call that a piece belongs to.

    OpenAI gives each call an index, and its id and name in its first piece. Other servers give several whole calls
    one index, or none. So a piece with a name and an id of its own begins a call, whatever its index is.
    """

    def __init__(self) -> None:
        # By index; those of one index in the order in which they came.
        self._calls: dict[int, list[Json]] = {}
        self._newest: Json | None = None

    def of(self, delta: Json, position: int, pieces: int) -> Json:
        """Return the call of a piece, which is the one at `position` of the `pieces` that came together."""
        index = delta.get("index")
        if index is None and self._newest is not None and not _begins(delta) and pieces == 1:
            return self._newest
        place = position if index is None else int(index)
        calls = self._calls.setdefault(place, [])
        if not calls or (_begins(delta) and calls[-1]["id"] not in (None, delta["id"])):
            calls.append({"id": None, "type": "function", "function": {"name": "", "arguments": ""}})
        self._newest = calls[-1]
        self._newest["id"] = self._newest["id"] or delta.get("id")
        return self._newest

    def whole(self) -> list[Json]:
        """Return the calls in the order of their indexes."""
        return [call for index in sorted(self._calls) for call in self._calls[index]]


def _begins(delta: Json) -> bool:
    """Tell a first piece: some servers send another id, but no name, with each piece of one call."""
    return bool(delta.get("id") and (delta.get("function") or {}).get("name"))
