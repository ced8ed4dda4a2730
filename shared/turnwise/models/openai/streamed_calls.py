"""The calls of a streamed answer, put together from their pieces."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


class StreamedCalls:
    """Finds the call that a piece belongs to.

    OpenAI gives each call an index, and its id and name in its first piece. Other servers give several whole calls
    one index, or none, and some of them no id. So a piece with a name and an id of its own begins a call, whatever its
    index is; one with a name alone does if the call before it is whole. Some servers begin a call with `{}` for its
    arguments, and then send them.
    """

    def __init__(self) -> None:
        # By index; those of one index in the order in which they came.
        self._calls: dict[int, list[Json]] = {}
        self._newest: Json | None = None

    def of(self, delta: Json, position: int, pieces: int) -> Json:
        """Return the call of a piece, which is the one at `position` of the `pieces` that came together."""
        index = delta.get("index")
        if index is None and self._newest is not None and pieces == 1 and not _is_another(delta, self._newest):
            return self._newest
        place = position if index is None else int(index)
        calls = self._calls.setdefault(place, [])
        if not calls or _is_another(delta, calls[-1]):
            calls.append({"id": None, "type": "function", "function": {"name": "", "arguments": ""}})
        self._newest = calls[-1]
        self._newest["id"] = self._newest["id"] or delta.get("id")
        if _is_empty(self._newest) and _arguments(delta).startswith("{"):
            self._newest["function"]["arguments"] = ""
        return self._newest

    def __bool__(self) -> bool:
        return self._newest is not None

    def whole(self) -> list[Json]:
        """Return the calls in the order of their indexes."""
        return [call for index in sorted(self._calls) for call in self._calls[index]]


def _is_another(delta: Json, call: Json) -> bool:
    """Return whether a piece belongs to another call than `call`.

    Some servers send another id, but no name, with each piece of one call; others the name, and the same id or none.
    """
    function = delta.get("function") or {}
    name, id = function.get("name"), delta.get("id")
    if not name or (id and id == call["id"]):
        return False
    if id and call["id"]:
        return True
    if name != call["function"]["name"]:
        return _is_whole(call)
    # Blank arguments end a call. An object after an empty one is the same call's where an index says that it is.
    follows = delta.get("index") is not None and _is_empty(call)
    return bool(_arguments(delta)) and _is_whole(call) and not follows


def _arguments(delta: Json) -> str:
    """Return the arguments in a piece as text, without blanks around them."""
    found = (delta.get("function") or {}).get("arguments") or ""
    text: str = json.dumps(found) if isinstance(found, dict) else found.strip()
    return text


def _is_empty(call: Json) -> bool:
    return bool(call["function"]["arguments"].strip() == "{}")


def _is_whole(call: Json) -> bool:
    """Return whether the arguments are a whole object, which nothing can follow."""
    text = call["function"]["arguments"]
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
