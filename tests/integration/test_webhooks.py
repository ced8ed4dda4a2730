"""Webhooks of an embedded server, sent over real HTTP to a real receiver."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import httpx2
import pytest
from tests.support.cli import Terminal, terminal
from tests.support.receiver import Received, Reply, WebhookReceiver

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task
from turnwise.api.webhooks import DeliveryView
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import AsyncClient, Client
from turnwise.errors import ConflictError, ForbiddenAddressError, InvalidWebhookError, NotFoundError
from turnwise.processes.settings import load_settings

__all__ = ["terminal"]

T = TypeVar("T")


def _desk() -> Task:
    config = ChatAgentConfig(name="Desk", llm=MockLMConfig(default_response="it is done DONE"))
    return Task(ChatAgent(config), interactive=False)


def _asking() -> Task:
    config = ChatAgentConfig(name="Asking", llm=MockLMConfig(default_response="May I?"))
    return Task(ChatAgent(config), interactive=True)


@dataclass(frozen=True)
class Here:
    """A server, a client of it, and what receives its webhooks."""

    client: Client
    receiver: WebhookReceiver
    url: str

    def of_run(self, run_id: str, n: int = 1) -> list[Received]:
        """The requests about a run, once there are so many."""
        return eventually(lambda: found if len(found := self._about(run_id)) >= n else None)

    def _about(self, run_id: str) -> list[Received]:
        return [one for one in list(self.receiver.received) if json.loads(one.body)["data"].get("run") == run_id]

    def delivery(self, run_id: str, state: str) -> DeliveryView:
        """The one delivery of a run, once it is in that state."""

        def look() -> DeliveryView | None:
            found = self.client.run_deliveries(run_id).items
            return found[0] if found and found[0].state == state else None

        return eventually(look)


def eventually(look: Callable[[], T | None], seconds: float = 20.0) -> T:
    """What `look` finds, once it does."""
    end = time.monotonic() + seconds
    while (found := look()) is None:
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.05)
    return found


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    settings = load_settings(
        database_url=f"sqlite:///{tmp_path_factory.mktemp('webhooks') / 'runs.db'}",
        bind="127.0.0.1:0",
        sweep_seconds=0.1,
        webhook_allow_http=True,
        webhook_allowed_networks=["127.0.0.0/8"],
        webhook_timeout=2.0,
        webhook_retry_seconds=0.0,
    )
    app = App("tests")
    app.task(name="desk")(_desk)
    app.task(name="asking")(_asking)
    with (
        WebhookReceiver() as receiver,
        EmbeddedServer(settings, app) as server,
        Client(server.url) as client,
    ):
        yield Here(client, receiver, server.url)


@pytest.fixture(autouse=True)
def _answers(here: Here) -> Iterator[None]:
    here.receiver.answer = lambda _: Reply()
    yield
    for one in here.client.webhooks().items:
        here.client.delete_webhook(one.id)


def test_the_end_of_a_run_is_sent_to_the_url_that_it_was_submitted_with(here: Here) -> None:
    run = here.client.submit("desk", "hello", webhook=here.receiver.url, tags=["may"], metadata={"order": 7})

    assert run.webhook is not None
    (request,) = here.of_run(run.id)
    message = request.verified(run.webhook.secret)
    data = message["data"]
    assert message["type"] == "run.completed"
    assert (data["run"], data["task"], data["tags"], data["metadata"]) == (run.id, "desk", ["may"], {"order": 7})
    assert (data["status"], data["status_code"], data["error"]) == ("completed", "DONE", None)
    assert data["message"] == {"content": "it is done", "tools": [], "truncated": False}
    assert data["usage"]["calls"] == 1
    # and is shown, without the secret
    delivery = here.delivery(run.id, "delivered")
    assert (delivery.id, delivery.status_code, delivery.attempts) == (request.id, 204, 1)
    assert delivery.body == request.body
    assert here.client.run(run.id).webhook is None
    assert run.webhook.secret not in here.client.webhook(run.webhook.id).model_dump_json()


def test_the_secret_of_a_run_that_is_followed_is_shown_beside_its_events(terminal: Terminal, here: Here) -> None:
    options = ("--webhook", here.receiver.url, "--json", "--wait", "--url", here.url)

    told = terminal.whole("submit", "desk", "hello", *options)

    secret = re.search(r"Events are signed with (whsec_\S+), which is not shown again", told)
    assert secret is not None
    (request,) = here.of_run(json.loads(told.splitlines()[-1])["run"])
    assert request.verified(secret[1])["type"] == "run.completed"


def test_a_question_to_a_person_is_sent_with_what_it_takes_to_answer(here: Here) -> None:
    made = here.client.create_webhook(here.receiver.url, events=["human.*"], description="the pager")
    run = here.client.submit("asking", "hello")
    (request,) = here.of_run(run.id)
    data = request.verified(made.secret)["data"]
    assert data["message"]["content"] == "May I?"
    here.client.answer(run.id, "yes", question=data["ask"])
    # It asks again, and messages may overtake each other.
    told = sorted(json.loads(one.body)["type"] for one in here.of_run(run.id, 3))
    assert told == ["human.answered", "human.asked", "human.asked"]
    here.client.cancel(run.id)


def test_one_that_is_not_taken_is_parked_and_replayed_under_its_id(here: Here) -> None:
    here.receiver.answer = lambda _: Reply(status=500, body=b"out of order")
    made = here.client.create_webhook(here.receiver.url, events=["run.completed"])
    run = here.client.submit("desk", "hello")
    parked = here.delivery(run.id, "parked")
    assert (parked.status_code, parked.response, parked.error) == (500, "out of order", "it answered 500")
    assert here.client.webhook(made.id).parked == 1

    # when the receiver works again
    here.receiver.answer = lambda _: Reply()
    assert here.client.replay_deliveries(made.id).replayed == 1
    assert here.delivery(run.id, "delivered").id == parked.id
    first, second = here.of_run(run.id, 2)
    assert (first.id, first.body) == (second.id, second.body)
    # and one that was delivered can be sent once more
    here.client.replay_delivery(made.id, parked.id)
    assert len(here.of_run(run.id, 3)) == 3


def test_a_receiver_that_answers_410_gets_nothing_more(here: Here) -> None:
    here.receiver.answer = lambda _: Reply(status=410)
    made = here.client.create_webhook(here.receiver.url)
    run = here.client.submit("desk", "hello")
    here.delivery(run.id, "parked")
    shown = here.client.webhook(made.id)
    assert (shown.active, shown.disabled_reason) == (False, "gone")
    with pytest.raises(ConflictError, match="disabled"):
        here.client.test_webhook(made.id)
    assert here.client.change_webhook(made.id, active=True).active


def test_both_secrets_sign_for_a_time_after_a_rotation(here: Here) -> None:
    made = here.client.create_webhook(here.receiver.url)
    rotated = here.client.rotate_webhook(made.id, overlap=60)
    assert rotated.secret != made.secret
    before = len(here.receiver.received)
    delivery = here.client.test_webhook(made.id)
    request = here.receiver.wait(before + 1)[-1]
    assert request.id == delivery.id
    assert request.verified(made.secret) == request.verified(rotated.secret)
    assert request.verified(made.secret)["type"] == "webhook.test"
    page = eventually(lambda: here.client.deliveries(made.id, state="delivered").items or None)
    assert [one.type for one in page] == ["webhook.test"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"url": "http://10.0.0.1/hook"}, ForbiddenAddressError),
        ({"url": "http://[::1]/hook"}, ForbiddenAddressError),
        ({"url": "http://nohost.invalid/hook"}, InvalidWebhookError),
        ({"url": "mailto:a@example.com"}, InvalidWebhookError),
        ({"events": ["turn.taken"]}, InvalidWebhookError),
        ({"secret": "word"}, InvalidWebhookError),
    ],
)
def test_what_cannot_be_used_is_refused_at_the_door(
    here: Here, changes: dict[str, object], error: type[Exception]
) -> None:
    given = {"url": here.receiver.url} | changes
    with pytest.raises(error):
        here.client.create_webhook(**given)  # type: ignore[arg-type]
    runs = len(here.client.runs().items)
    with pytest.raises(error):
        here.client.submit("desk", "hello", webhook=given)
    with pytest.raises(error, match=r"body\.runs\.0"):
        here.client.submit_batch([{"task": "desk", "message": "hello", "webhook": given}])
    assert here.client.webhooks().items == []
    assert len(here.client.runs().items) == runs


def test_a_run_of_a_batch_brings_its_secret_along(here: Here) -> None:
    one = {"task": "desk", "message": "hello", "webhook": here.receiver.url}
    with pytest.raises(InvalidWebhookError, match="the webhook has no"):
        here.client.submit_batch([one])
    secret = "whsec_" + "QUFB" * 8
    made = here.client.submit_batch([one | {"webhook": {"url": here.receiver.url, "secret": secret}}])
    assert here.of_run(made.runs[0].id)[0].verified(secret)["type"] == "run.completed"


def test_a_submission_that_is_repeated_has_one_webhook(here: Here) -> None:
    def submit() -> httpx2.Response:
        return httpx2.post(
            f"{here.url}/v1/runs",
            json={"task": "desk", "message": "hello", "webhook": {"url": here.receiver.url}},
            headers={"Idempotency-Key": "the same"},
        )

    first, second = submit().json(), submit().json()
    assert first["id"] == second["id"]
    assert first["webhook"]["secret"].startswith("whsec_")
    assert second["webhook"] is None
    here.delivery(first["id"], "delivered")
    assert len(here.of_run(first["id"])) == 1


def test_the_command_line(terminal: Terminal, here: Here) -> None:
    where = ("--url", here.url)
    here.receiver.answer = lambda _: Reply(status=500)
    made = terminal.run("webhooks", "create", here.receiver.url, "--event", "run.*", "--json", *where)
    hook, secret = json.loads(made)["id"], json.loads(made)["secret"]
    run = here.client.submit("desk", "hello")
    eventually(lambda: here.client.webhook(hook).parked == 2 or None)  # it began, and it ended

    assert re.search(rf"{hook} .*{here.receiver.url} .*active +0 +2", _line(terminal.run("webhooks", "list", *where)))
    shown = _line(terminal.run("webhooks", "deliveries", hook, "--state", "parked", *where))
    assert all(text in shown for text in (run.id, "run.completed", "run.accepted", "it answered 500"))
    here.receiver.answer = lambda _: Reply()
    assert terminal.run("webhooks", "replay", hook, *where) == "2 messages are being sent again.\n"
    eventually(lambda: here.client.webhook(hook).parked == 0 or None)
    assert secret not in terminal.run("webhooks", "rotate", hook, *where)
    assert "is being sent. What came of it" in terminal.run("webhooks", "test", hook, *where)
    changed = terminal.run("webhooks", "change", hook, "--disable", *where)
    assert changed == f"{hook} is disabled (request): {here.receiver.url}\n"
    assert "is disabled" in terminal.run("webhooks", "test", hook, *where, code=2)
    assert terminal.run("webhooks", "delete", hook, *where) == f"{hook} is deleted.\n"
    assert "Traceback" not in terminal.run("webhooks", "deliveries", hook, *where, code=2)
    assert "10.0.0.1" in terminal.run("webhooks", "create", "http://10.0.0.1/", *where, code=2)


def _line(table: str) -> str:
    """A table whose cells are folded at the width of the terminal, as one line."""
    return " ".join(table.split())


async def _asynchronously(here: Here) -> None:
    async with AsyncClient(here.url) as client:
        made = await client.create_webhook(here.receiver.url, events=["*"])
        changed = await client.change_webhook(made.id, events=["run.*"], description="changed", active=False)
        assert (changed.active, changed.disabled_reason, changed.description) == (False, "request", "changed")
        assert changed.events[0] == "run.accepted"
        await client.delete_webhook(made.id)
        with pytest.raises(NotFoundError):
            await client.webhook(made.id)


def test_a_webhook_is_changed_and_deleted_with_the_other_client(here: Here) -> None:
    import asyncio

    asyncio.run(_asynchronously(here))
