"""US dollars as people write them."""

from __future__ import annotations

import re
from decimal import Decimal

_USD = re.compile(r"[0-9]{1,12}(\.[0-9]{1,18})?")


def parse_usd(text: str) -> Decimal | None:
    """An amount such as "0.50", exactly; None for what is none: a sign, an exponent, more than 12 digits before the
    point or 18 behind it, NaN."""
    return Decimal(text) if _USD.fullmatch(text) else None
