"""The wait of a call that cannot be made now, but later."""

from __future__ import annotations

from dataclasses import dataclass

from turnwise.base.waits import DeferralWait
from turnwise.errors import TurnwiseError
from turnwise.models.limits.provider import ProviderWait


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """Look again in so many seconds; `waiting_for` says what for.

    With `provider` it may be sooner: as soon as that has room.
    """

    seconds: float
    waiting_for: DeferralWait
    provider: ProviderWait | None = None


class CallDeferred(TurnwiseError):
    """The ask of a served run is deferred: its model's call has no room now. Nothing was called.

    Passes through the agent, whose changes are thrown away; the ask is answered anew when it is due.
    """

    code = "call_deferred"

    def __init__(self, wait: Wait) -> None:
        super().__init__(f"the call waits for {wait.waiting_for.kind}, {wait.seconds:g} s")
        self.wait = wait
