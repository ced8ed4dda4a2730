"""A server that is killed with -9 after it sent a webhook, and before it noted that, sends it again under its id."""

from __future__ import annotations

import os
from pathlib import Path

from tests.e2e.processes import Process, environment, free_port
from tests.e2e.waiting import until
from tests.support.receiver import Received, Reply, WebhookReceiver

from turnwise.client import Client

_APPLICATION = """
from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task

app = App("desk")


@app.task
def desk():
    config = ChatAgentConfig(name="Desk", llm=MockLMConfig(default_response="it is done DONE"))
    return Task(ChatAgent(config), interactive=False)
"""


def test_a_server_killed_between_request_and_note_sends_again_under_the_same_id(tmp_path: Path) -> None:
    (tmp_path / "killed_desk.py").write_text(_APPLICATION)
    port = free_port()
    given = environment(
        app="killed_desk:app",
        database_url=f"sqlite:///{tmp_path / 'runs.db'}",
        bind=f"127.0.0.1:{port}",
        webhook_allow_http="true",
        webhook_allowed_networks='["127.0.0.0/8"]',
        webhook_timeout="2",
        lease_seconds="1.5",
        beat_seconds="0.5",
    )
    given["PYTHONPATH"] = os.pathsep.join([given["PYTHONPATH"], str(tmp_path)])
    url = f"http://127.0.0.1:{port}"

    def start() -> Process:
        made = Process(["up"], given, url, tmp_path / "up.log")
        made.wait_ready()
        return made

    first = start()

    def kill(_: Received) -> Reply:
        receiver.answer = lambda _: Reply()
        first.kill()
        return Reply()

    with WebhookReceiver(kill) as receiver, Client(url) as client:
        run = client.submit("desk", "hello", webhook={"url": receiver.url, "events": ["run.completed"]})
        assert run.webhook is not None
        (sent,) = receiver.wait(1)
        until(lambda: not first.running, "the server to be gone")

        # when another one starts on its record
        second = start()
        try:
            again = receiver.wait(2)[1]
            until(lambda: client.run_deliveries(run.id).items[0].state == "delivered", "the note of the delivery")
        finally:
            second.stop()

    assert (again.id, again.body) == (sent.id, sent.body)
    assert again.verified(run.webhook.secret)["data"]["run"] == run.id
