"""Beginning the items of batches as requests come in."""

from __future__ import annotations

from contextlib import suppress

from turnwise.errors import DatabaseUnavailableError
from turnwise.record.tenants.caller import Caller
from turnwise.serving.batch_feeder import BatchFeeder
from turnwise_gateway.gateway import Gateway


def feed(gateway: Gateway, caller: Caller, batch_id: str) -> None:
    """Begin the items that there is room for; what is not begun here, a sweep begins."""
    most = caller.limits.most_unfinished_runs(gateway.settings.tenant_max_unfinished_runs)
    with suppress(DatabaseUnavailableError):  # what the request was about is on record
        BatchFeeder(gateway.record.batches, gateway.dispatcher, gateway.observers).feed(batch_id, most)
