"""Values of the standard library that have a form in JSON: an encoder and a decoder for each exact type.

Lists, dicts and what else holds other values are not here, but in `encoding.py` and `decoding.py`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import SecretBytes, SecretStr
from pydantic_core import TzInfo


class Form(NamedTuple):
    """The mark that stands before a value in JSON, and the functions that write and read it."""

    mark: str
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _zone(zone: tzinfo | None) -> Any:
    if zone is None:
        return None
    # pydantic reads an offset as a class of its own, which means the same.
    if type(zone) in (timezone, TzInfo):
        offset = zone.utcoffset(None)
        assert offset is not None  # both are a fixed offset
        return [offset.total_seconds(), zone.tzname(None)]
    if type(zone) is ZoneInfo and zone.key:
        return zone.key
    raise TypeError(f"its time zone is a {type(zone).__name__}; expected a datetime.timezone or a ZoneInfo with a key")


def _zone_of(kept: Any) -> tzinfo | None:
    if kept is None:
        return None
    if isinstance(kept, str):
        return ZoneInfo(kept)
    made = timezone(timedelta(seconds=kept[0]))
    return made if made.tzname(None) == kept[1] else timezone(timedelta(seconds=kept[0]), kept[1])


def _moment(value: datetime | time) -> Any:
    return [value.replace(tzinfo=None, fold=0).isoformat(), _zone(value.tzinfo), value.fold]


def _bytes(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode()


def _pattern(value: re.Pattern[Any]) -> Any:
    if not isinstance(value.pattern, str):
        raise TypeError("it is a pattern of bytes")
    return [value.pattern, value.flags]


FORMS: dict[type[Any], Form] = {
    bytes: Form("$bytes", _bytes, base64.b64decode),
    complex: Form("$complex", lambda v: [repr(v.real), repr(v.imag)], lambda k: complex(float(k[0]), float(k[1]))),
    range: Form("$range", lambda v: [v.start, v.stop, v.step], lambda k: range(*k)),
    datetime: Form(
        "$datetime",
        _moment,
        lambda k: datetime.fromisoformat(k[0]).replace(tzinfo=_zone_of(k[1]), fold=k[2]),
    ),
    time: Form("$time", _moment, lambda k: time.fromisoformat(k[0]).replace(tzinfo=_zone_of(k[1]), fold=k[2])),
    date: Form("$date", date.isoformat, date.fromisoformat),
    timedelta: Form("$timedelta", lambda v: [v.days, v.seconds, v.microseconds], lambda k: timedelta(*k)),
    timezone: Form("$timezone", _zone, _zone_of),
    TzInfo: Form("$timezone", _zone, _zone_of),
    ZoneInfo: Form("$zone", _zone, _zone_of),
    Decimal: Form("$decimal", str, Decimal),
    Fraction: Form("$fraction", str, Fraction),
    UUID: Form("$uuid", str, UUID),
    # A path of this machine is one of the machine that reads it.
    PosixPath: Form("$path", str, Path),
    WindowsPath: Form("$path", str, Path),
    PurePosixPath: Form("$posix_path", str, PurePosixPath),
    PureWindowsPath: Form("$windows_path", str, PureWindowsPath),
    re.Pattern: Form("$pattern", _pattern, lambda k: re.compile(k[0], k[1])),
    SecretStr: Form("$secret", SecretStr.get_secret_value, SecretStr),
    SecretBytes: Form(
        "$secret_bytes", lambda v: _bytes(v.get_secret_value()), lambda k: SecretBytes(base64.b64decode(k))
    ),
}

READERS: dict[str, Callable[[Any], Any]] = {form.mark: form.read for form in FORMS.values()}
