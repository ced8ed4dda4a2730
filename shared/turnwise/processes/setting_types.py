"""Types of settings: numbers that threads and databases can take, and texts that mean what they seem to."""

from __future__ import annotations

import re
from decimal import Decimal
from ipaddress import ip_address, ip_network
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr, StringConstraints

_EVERYONE = "*"
# As `-Q` and the names of pinned queues are taken apart, at commas and at @, and blanks at the ends are dropped.
_QUEUE_WORD = re.compile(r"[^\s,@]([^,@\x00-\x1f\x7f]*[^\s,@])?")


def _checked_word(value: str) -> str:
    if not _QUEUE_WORD.fullmatch(value):
        raise ValueError("expected a word such as slow, without a comma, an @, or a blank at its ends")
    return value


def _checked_proxy(value: str) -> str:
    try:
        if value != _EVERYONE:
            _ = ip_network(value) if "/" in value else ip_address(value)
    except ValueError as error:
        raise ValueError(f"expected an address or a network of IP, such as 10.0.0.0/8 ({error})") from error
    return value


def _checked_proxies(value: list[str]) -> list[str]:
    if _EVERYONE in value and len(value) > 1:
        raise ValueError('expected either ["*"], which trusts everyone, or addresses and networks')
    return value


def _trimmed(value: SecretStr) -> SecretStr:
    return SecretStr(value.get_secret_value().strip())


# Thirty years. A thread can wait for ten times that.
Seconds = Annotated[float, Field(le=1e9)]
# The bounds of the API, and of the columns.
Count = Annotated[int, Field(lt=2**31)]
Tokens = Annotated[int, Field(lt=2**53)]
Usd = Annotated[Decimal, Field(lt=10**12)]
Weight = Annotated[float, Field(gt=0, le=1e9)]
# Without the blanks and line ends around it, as of a file: the variable of a Kubernetes secret often ends with one.
Trimmed = Annotated[str, StringConstraints(strip_whitespace=True)]
TrimmedSecret = Annotated[SecretStr, AfterValidator(_trimmed)]
QueueWord = Annotated[str, AfterValidator(_checked_word)]
Proxies = Annotated[list[Annotated[str, AfterValidator(_checked_proxy)]], AfterValidator(_checked_proxies)]
