"""Compare what two sides asked their models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from .normal import normal
from .script import Request


def differences(
    one: Sequence[Request],
    other: Sequence[Request],
    *,
    in_order: bool = True,
    model: bool = True,
    once: bool = False,
) -> list[str]:
    """Return the differences in words, by request; none where the conversations are equal.

    `model`: its name counts. `once`: equal requests count once, where they come in no order.
    """
    first, second = normal(one), normal(other)
    if not model:
        first, second = _without_model(first), _without_model(second)
    if not in_order:
        first, second = _sorted(first, once), _sorted(second, once)
    found = []
    for at, (a, b) in enumerate(zip(first, second, strict=False), 1):
        found += [f"request {at}: {where}" for where in _differing("", a, b)]
    if len(first) != len(second):
        found.append(f"{len(first)} requests against {len(second)}")
    return found


def _without_model(requests: Sequence[Request]) -> list[Request]:
    return [{key: value for key, value in request.items() if key != "model"} for request in requests]


def _sorted(requests: Sequence[Request], once: bool) -> list[Request]:
    texts = [_canonical(request) for request in requests]
    return [json.loads(text) for text in sorted(set(texts) if once else texts)]


def _canonical(request: Request) -> str:
    return json.dumps(request, sort_keys=True)


def _differing(path: str, one: Any, other: Any) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(set(one) | set(other)):
            yield from _differing(f"{path}.{key}".lstrip("."), one.get(key), other.get(key))
    elif isinstance(one, list) and isinstance(other, list):
        for at, (a, b) in enumerate(zip(one, other, strict=False)):
            yield from _differing(f"{path}[{at}]", a, b)
        if len(one) != len(other):
            yield f"{path}: {len(one)} items against {len(other)}"
    elif one != other:
        yield f"{path}: {_near(one, other)}"


def _near(one: Any, other: Any) -> str:
    """Both values, of texts only the part around the first difference."""
    if not (isinstance(one, str) and isinstance(other, str)):
        return f"{json.dumps(one)[:300]} against {json.dumps(other)[:300]}"
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(0, at - 30)
    return f"{one[start : at + 80]!r} against {other[start : at + 80]!r} (from {start})"
