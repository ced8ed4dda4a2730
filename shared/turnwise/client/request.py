"""A request to the gateway as a value: what to send, and how to read the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import BaseModel

from turnwise.api.body import MAX_DEADLINE
from turnwise.api.pages import Page
from turnwise.base.json_bounds import is_unicode
from turnwise.base.json_value import given
from turnwise.errors import InvalidRequestError
from turnwise.models.budget.budget import usd_text

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)
Json = dict[str, Any]
# US dollars, as a program may have them.
Amount: TypeAlias = Decimal | float | str

# Seconds for an answer; a submission may wait longer, and adds what it waits.
ANSWER_SECONDS = 30.0
# Requests that may be sent again as they are: a second one changes nothing.
_REPEATABLE = ("GET", "PUT")
# Requests that the gateway does once for each idempotency key.
_KEYED = ("POST", "PATCH")


@dataclass(frozen=True, kw_only=True)
class Request(Generic[T]):
    """One request. `read` makes the result of the answer; it raises `ValueError` for one that is something else."""

    method: str
    path: str
    read: Callable[[httpx2.Response], T]
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Json | None = None
    idempotency_key: str | None = None
    seconds: float = ANSWER_SECONDS
    cursor_param: str = "cursor"

    @property
    def takes_key(self) -> bool:
        """Return whether the gateway accepts an idempotency key for it."""
        return self.method in _KEYED

    @property
    def repeatable(self) -> bool:
        """Return whether it may be sent again when its outcome is unknown."""
        return self.method in _REPEATABLE or self.idempotency_key is not None

    def following(self, cursor: str) -> Request[T]:
        """Return the request for the page that begins at the cursor."""
        return replace(self, params={**self.params, self.cursor_param: cursor})


def path_of(*parts: str) -> str:
    """Return the path below /v1 of these parts, whatever characters they have.

    Raises `InvalidRequestError` for one that is empty, or no text.
    """
    if not all(parts):
        raise InvalidRequestError(f"a name or an id is empty, in {'/'.join(parts)!r}")
    check_texts(parts)
    return "/".join(["/v1", *(quote(part, safe="") for part in parts)])


def check_texts(values: Iterable[object]) -> None:
    """Raise `InvalidRequestError` for a text that no address can have."""
    for value in values:
        if isinstance(value, str) and not is_unicode(value):
            raise InvalidRequestError(f"{value!a} holds half of a surrogate pair, which is no text; send valid Unicode")


def money(amount: Amount | None) -> str | None:
    """Return US dollars as the API takes them, a float as it is printed; raises `InvalidRequestError`."""
    if amount is None:
        return None
    try:
        written = str(amount)
    except ValueError:  # Python writes no int of more than 4,300 digits
        written = "an int of thousands of digits"
    try:
        text = usd_text(Decimal(written))
    except InvalidOperation:
        text = None
    if text is None:
        raise InvalidRequestError(f"an amount of money is {written[:100]!r}; expected US dollars, such as '0.50'")
    return text


def limits_of(*, max_cost: Amount | None, **others: float | str | None) -> Json:
    """Return the limits of a run that are given, as the API takes them; raises `InvalidRequestError`."""
    return given(max_cost=money(max_cost), **others)


def waited(seconds: float) -> float:
    """Return the seconds to wait for an answer; raises `InvalidRequestError` for what is no such time."""
    if not isinstance(seconds, int | float) or not 0 <= seconds <= MAX_DEADLINE:
        raise InvalidRequestError(f"wait is {seconds!r}; expected seconds, such as 30")
    return seconds


def moment(at: datetime | str | None) -> str | None:
    """Return a time as the API takes it."""
    return at.isoformat() if isinstance(at, datetime) else at


def model(kind: type[Model]) -> Callable[[httpx2.Response], Model]:
    """Read an answer as that model."""
    return lambda response: kind.model_validate(response.json())


def items(page: type[Page[T]]) -> Callable[[httpx2.Response], list[T]]:
    """Read an answer as a list that comes whole."""
    return lambda response: page.model_validate(response.json()).items


def text(response: httpx2.Response) -> str:
    """Read an answer as text."""
    return response.text


def nothing(_response: httpx2.Response) -> None:
    """Read an answer that has no content."""
