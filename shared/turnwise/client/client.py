"""The client for programs that block."""

from __future__ import annotations

from types import TracebackType

import httpx2

from turnwise.client.blocking import Blocking, carried, paged, streamed
from turnwise.client.operations import access as _access
from turnwise.client.operations import fleet as _fleet
from turnwise.client.operations import people as _people
from turnwise.client.operations import runs as _runs


class Client(Blocking):
    """A gateway at `base_url`, for instance http://127.0.0.1:8080.

    `token` is an API key or the server's token, where it asks for one. With `retries`, a request that the gateway did
    not answer, or answered with 502, 503 or 504, is sent again so often; one that changes something goes with an
    idempotency key, so that it is done once.

    Answers are models of `turnwise.api`. A refusal is raised as the class of `turnwise.errors` that has the problem's
    code; `GatewayUnavailableError` if nothing answers. It may be shared between
    threads, and is closed by `with` or `close`.
    """

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        *,
        retries: int = 0,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        base_url = base_url.rstrip("/")
        super().__init__(base_url, httpx2.Client(base_url=base_url, headers=headers, transport=transport), retries)

    submit = carried(_runs.submit)
    run = carried(_runs.run)
    runs = carried(_runs.runs)
    all_runs = paged(_runs.runs)
    events = streamed(_runs.events)
    transcript = carried(_runs.transcript)
    timeline = carried(_runs.timeline)
    cancel = carried(_runs.cancel)
    retry = carried(_runs.retry)
    cancel_runs = carried(_runs.cancel_runs)
    retry_runs = carried(_runs.retry_runs)
    fork = carried(_runs.fork)
    change_limits = carried(_runs.change_limits)

    answer = carried(_people.answer)
    inbox = carried(_people.inbox)
    resolve = carried(_people.resolve)
    session = carried(_people.session)
    delete_session = carried(_people.delete_session)

    tasks = carried(_fleet.tasks)
    workers = carried(_fleet.workers)
    queues = carried(_fleet.queues)
    pauses = carried(_fleet.pauses)
    pause = carried(_fleet.pause)
    resume = carried(_fleet.resume)
    live = carried(_fleet.live)
    ready = carried(_fleet.ready)
    metrics = carried(_fleet.metrics)

    create_key = carried(_access.create_key)
    keys = carried(_access.keys)
    all_keys = paged(_access.keys)
    rotate_key = carried(_access.rotate_key)
    revoke_key = carried(_access.revoke_key)
    tenants = carried(_access.tenants)
    all_tenants = paged(_access.tenants)
    tenant = carried(_access.tenant)
    set_tenant = carried(_access.set_tenant)
    usage = carried(_access.usage)
    audit = carried(_access.audit)
    all_audit = paged(_access.audit)

    def close(self) -> None:
        """Close the connections; the client may not be used afterwards."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
