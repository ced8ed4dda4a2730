"""The client for programs with an event loop."""

from __future__ import annotations

from types import TracebackType

import httpx2

from turnwise.base.tls import tls_towards
from turnwise.client.address import authorization, gateway_url
from turnwise.client.awaited import Awaited, carried, paged, streamed
from turnwise.client.exchange import LIMITS
from turnwise.client.operations import access as _access
from turnwise.client.operations import batches as _batches
from turnwise.client.operations import fleet as _fleet
from turnwise.client.operations import people as _people
from turnwise.client.operations import runs as _runs
from turnwise.client.operations import schedules as _schedules
from turnwise.client.operations import webhooks as _webhooks


class AsyncClient(Awaited):
    """A gateway at `base_url`, for instance http://127.0.0.1:8080, for programs with an event loop.

    It has the methods of `Client`, to be awaited; `events` and the methods that begin with `all_` are for `async for`.

    `token` is an API key or the server's token, where it asks for one. With `retries`, a request that the gateway did
    not answer, or answered with 502, 503 or 504, is sent again so often; one that changes something goes with an
    idempotency key, so that it is done once.

    Answers are models of `turnwise.api`. A refusal is raised as the class of `turnwise.errors` that has the problem's
    code; `GatewayUnavailableError` if nothing answers, `ConfigurationError` for a `base_url` that is no http or https
    URL. It is closed by `async with` or `close`.
    """

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        *,
        retries: int = 0,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        base_url = gateway_url(base_url, "base_url")
        http = httpx2.AsyncClient(
            base_url=base_url,
            headers=authorization(token),
            limits=LIMITS,
            transport=transport,
            verify=tls_towards(base_url),
        )
        super().__init__(base_url, http, retries)

    submit = carried(_runs.submit)
    run = carried(_runs.run)
    runs = carried(_runs.runs)
    all_runs = paged(_runs.runs)
    events = streamed(_runs.events)
    history = carried(_runs.history)
    transcript = carried(_runs.transcript)
    timeline = carried(_runs.timeline)
    log_page = carried(_runs.log_page)
    cancel = carried(_runs.cancel)
    retry = carried(_runs.retry)
    cancel_runs = carried(_runs.cancel_runs)
    retry_runs = carried(_runs.retry_runs)
    fork = carried(_runs.fork)
    change_limits = carried(_runs.change_limits)

    submit_batch = carried(_batches.submit_batch)
    open_batch = carried(_batches.open_batch)
    add_batch_items = carried(_batches.add_batch_items)
    seal_batch = carried(_batches.seal_batch)
    batch = carried(_batches.batch)
    batches = carried(_batches.batches)
    all_batches = paged(_batches.batches)
    batch_results = carried(_batches.batch_results)
    all_batch_results = paged(_batches.batch_results)
    cancel_batch = carried(_batches.cancel_batch)
    retry_batch = carried(_batches.retry_batch)

    create_webhook = carried(_webhooks.create_webhook)
    webhooks = carried(_webhooks.webhooks)
    webhook = carried(_webhooks.webhook)
    change_webhook = carried(_webhooks.change_webhook)
    delete_webhook = carried(_webhooks.delete_webhook)
    rotate_webhook = carried(_webhooks.rotate_webhook)
    test_webhook = carried(_webhooks.test_webhook)
    deliveries = carried(_webhooks.deliveries)
    run_deliveries = carried(_webhooks.run_deliveries)
    replay_deliveries = carried(_webhooks.replay_deliveries)
    replay_delivery = carried(_webhooks.replay_delivery)

    answer = carried(_people.answer)
    inbox = carried(_people.inbox)
    inbox_page = carried(_people.inbox_page)
    all_inbox = paged(_people.inbox_page)
    inbox_count = carried(_people.inbox_count)
    resolve = carried(_people.resolve)
    session = carried(_people.session)
    delete_session = carried(_people.delete_session)

    create_schedule = carried(_schedules.create_schedule)
    schedules = carried(_schedules.schedules)
    all_schedules = paged(_schedules.schedules)
    schedule = carried(_schedules.schedule)
    change_schedule = carried(_schedules.change_schedule)
    remove_schedule = carried(_schedules.remove_schedule)
    pause_schedule = carried(_schedules.pause_schedule)
    resume_schedule = carried(_schedules.resume_schedule)
    trigger_schedule = carried(_schedules.trigger_schedule)
    ticks = carried(_schedules.ticks)
    all_ticks = paged(_schedules.ticks)

    tasks = carried(_fleet.tasks)
    task = carried(_fleet.task)
    workers = carried(_fleet.workers)
    queues = carried(_fleet.queues)
    providers = carried(_fleet.providers)
    series = carried(_fleet.series)
    pauses = carried(_fleet.pauses)
    pause = carried(_fleet.pause)
    resume = carried(_fleet.resume)
    live = carried(_fleet.live)
    ready = carried(_fleet.ready)
    metrics = carried(_fleet.metrics)

    caller = carried(_access.caller)
    create_key = carried(_access.create_key)
    keys = carried(_access.keys)
    all_keys = paged(_access.keys)
    rotate_key = carried(_access.rotate_key)
    revoke_key = carried(_access.revoke_key)
    tenants = carried(_access.tenants)
    all_tenants = paged(_access.tenants)
    tenant = carried(_access.tenant)
    set_tenant = carried(_access.set_tenant)
    outlines = carried(_access.outlines)
    all_outlines = paged(_access.outlines)
    usage = carried(_access.usage)
    spenders = carried(_access.spenders)
    audit = carried(_access.audit)
    all_audit = paged(_access.audit)

    async def close(self) -> None:
        """Close the connections; the client may not be used afterwards."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
