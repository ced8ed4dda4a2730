"""The signature of a delivery, by Standard Webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from turnwise.base.version import VERSION


def signed_headers(id: str, body: str, secrets: Sequence[str], at: float) -> dict[str, str]:
    """The headers of a request, signed with each secret; `at` is now, in seconds since the epoch."""
    from standardwebhooks import Webhook  # of the extra `coordinator`

    time = datetime.fromtimestamp(int(at), UTC)
    return {
        "content-type": "application/json",
        "user-agent": f"Turnwise/{VERSION}",
        "webhook-id": id,
        "webhook-timestamp": str(int(at)),
        "webhook-signature": " ".join(Webhook(secret).sign(id, time, body) for secret in secrets),
    }
