"""An item of a batch as a client sends it: the gateway takes it, and `turnwise batch` checks its file by it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from turnwise.api.body import Body, Limits, Tag, plain_text, said
from turnwise.errors import InvalidRequestError

Name = Annotated[str, AfterValidator(plain_text)]


class BatchItemBody(Body):
    """An item of a batch: a run of its task to be made."""

    message: Annotated[str, AfterValidator(said)] = Field(examples=["I was charged twice for May."])
    id: Name | None = Field(
        None, min_length=1, max_length=200, description="Your own, unique in the batch; results have it."
    )
    limits: Limits = Limits()
    priority: int = Field(0, ge=-100, le=100, description="Higher is sooner, among runs that have begun.")
    tags: list[Tag] = Field([], max_length=20)
    metadata: dict[str, Any] = Field({}, description="Anything of the client's own; kept and given back.")

    def check_budgeted(self) -> None:
        """Raise `InvalidRequestError` if the item cannot be one of a batch with a budget."""
        if self.limits.on_limit == "wait":
            raise InvalidRequestError("limits.on_limit is wait, but a run of a batch with a budget ends at its limit")
