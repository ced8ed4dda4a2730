"""The catalogue of an application's tasks, as the gateway shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ConfigDict
from tests.support.gateway_parts import Served, served

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.client import Client
from turnwise.messages.tool_message import ToolEffect
from turnwise.messages.tools.orchestration import DoneTool


class Refund(ToolMessage):
    request: str = "refund"
    purpose: str = "To pay an <amount> back."
    amount: int
    note: str = ""
    _effect: ToolEffect = "idempotent"
    _timeout: float = 5.0


class Weighed(ToolMessage):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    request: str = "weighed"
    memory: memoryview
    _allow_llm_use: bool = False

    def handle(self) -> str:
        return "heavy"


class Billing(ChatAgent):
    def refund(self, msg: Refund) -> str:
        return f"{msg.amount} paid"


def application() -> App:
    app = App("office", version="7")

    @app.task
    def desk() -> Task[Any]:
        reception = ChatAgent(ChatAgentConfig(name="reception", llm=None))
        billing = Billing(ChatAgentConfig(name="billing", llm=MockLMConfig(chat_model="scripted")))
        billing.enable_message([Refund, Weighed, DoneTool])
        task = Task(reception, name="desk", restart=False, interactive=False)
        task.add_sub_task([Task(billing, name="pay", single_round=True), Task(billing, name="look", interactive=False)])
        return task

    @app.task(name="desk/at night")
    def night() -> Task[Any]:
        return Task(ChatAgent(ChatAgentConfig(name="guard", llm=None)), interactive=False)

    return app


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("catalogue")
    with served(directory, app=application(), llm_queues={"billing": "slow"}, max_cost="0.50") as made:
        yield made


def test_a_task_is_shown_with_the_tree_of_its_tasks(gateway: Served) -> None:
    with Client(gateway.base_url) as client:
        task = client.task("desk")

    assert (task.name, task.application, task.version, task.pinned) == ("desk", "office", "7", False)
    assert (task.keeps_conversation, task.paths) == (True, ["desk", "desk/pay", "desk/look"])
    assert (task.tree.path, task.tree.agent, task.tree.interactive, task.tree.turns) == ("desk", "desk", False, None)
    assert [(sub.path, sub.agent, sub.interactive, sub.turns) for sub in task.tree.sub_tasks] == [
        ("desk/pay", "desk/pay", True, 1),
        ("desk/look", "desk/pay", False, None),
    ]
    assert (task.limits.max_cost, task.limits.on_limit, task.max_turns) == ("0.50", "end", 1_000)


def test_its_agents_are_shown_with_models_queues_and_tools(gateway: Served) -> None:
    reception, billing = gateway.http.get("/v1/tasks/desk").json()["agents"]

    assert reception == {
        "key": "desk",
        "name": "reception",
        "model": None,
        "llm_queue": None,
        "agent_queue": "agent",
        "tools": [],
    }
    assert (billing["key"], billing["model"], billing["llm_queue"]) == ("desk/pay", "scripted", "llm-slow")
    tools = {tool.pop("name"): tool for tool in billing["tools"]}
    parameters = tools["refund"].pop("parameters")
    assert tools["refund"] == {
        "purpose": "To pay an <amount> back.",
        "usable": True,
        "handled": True,
        "effect": "idempotent",
        "timeout": 5.0,
    }
    assert parameters["required"] == ["amount"]
    assert parameters["properties"]["amount"]["type"] == "integer"
    assert tools["weighed"]["parameters"] is None
    assert (tools["weighed"]["usable"], tools["weighed"]["effect"]) == (False, "once")
    # Of the tools that every agent handles, the one that its model may use.
    assert set(tools) == {"refund", "weighed", "done_tool"}
    assert tools["done_tool"]["effect"] == "read_only"


def test_a_task_that_there_is_not_is_not_found(gateway: Served) -> None:
    response = gateway.http.get("/v1/tasks/nothing")

    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_a_name_with_a_slash_is_found_in_every_address(gateway: Served) -> None:
    name = "desk/at night"
    with Client(gateway.base_url) as client:
        assert client.task(name).tree.path == "guard"
        assert client.pause("task", name, reason="dawn").name == name
        assert [pause.name for pause in client.pauses()] == [name]
        assert client.resume("task", name).reason == "dawn"
    assert gateway.http.get("/v1/models/desk%2Fat%20night").json()["id"] == name

    assert gateway.http.get("/v1/tasks/desk/by%20day").json()["code"] == "not_found"
    paths = gateway.http.get("/openapi.json").json()["paths"]
    assert {"/v1/tasks/{name}", "/v1/pauses/{kind}/{name}", "/v1/models/{model}"} <= set(paths)
