"""The bodies of administrators that commands take as well: the name of a key, and the limits of a tenant."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from turnwise.api.body import Body, Money, plain_text


class NamedKey(Body):
    """A key with the name that people know it by."""

    name: Annotated[str, AfterValidator(plain_text)] = Field(
        min_length=1, max_length=100, description="What it is for.", examples=["the shop's backend"]
    )


class TenantChange(Body):
    """A tenant's own limits, in place of the installation's settings; these hold for what is left out."""

    day_max_cost: Money = Field(None, description="US dollars, a decimal string; 0 is no limit.", examples=["5.00"])
    day_max_tokens: int | None = Field(None, ge=0, lt=2**53, description="0 is no limit.")
    month_max_cost: Money = Field(None, description="US dollars, a decimal string; 0 is no limit.")
    month_max_tokens: int | None = Field(None, ge=0, lt=2**53, description="0 is no limit.")
    requests_per_minute: int | None = Field(None, ge=0, lt=2**31, description="Of all its callers; 0 is no limit.")
    max_unfinished_runs: int | None = Field(None, ge=0, lt=2**31, description="At a time; 0 is no limit.")
