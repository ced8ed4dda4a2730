"""Runs that an earlier version has on record, decided again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.mcp_calls import echoing
from tests.support.served_parts import Desk

from turnwise import AgentDoneTool, App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.record.past.private_record import PrivateRecord
from turnwise.record.store import Store
from turnwise.serving.replay import replay


class Prepare(ToolMessage):
    request: str = "prepare"
    purpose: str = "To prepare a call of another tool."


@pytest.mark.parametrize("written", ['"$tool": "echo", ', '"$tool": "echo", "limit": null, '])
def test_a_tool_of_an_mcp_server_with_nulls_for_what_was_not_given_is_the_same(written: str, tmp_path: Path) -> None:
    limit = {"type": ["integer", "null"], "default": 10}
    with echoing({"properties": {"text": {"type": "string"}, "limit": limit}}) as server:
        [echo] = server.tools()

    class Preparing(ChatAgent):
        def prepare(self, msg: Prepare) -> AgentDoneTool:
            return AgentDoneTool(content="prepared", tools=[echo.model_validate({"text": "x"})])

    app = App("prepared")

    @app.task
    def desk() -> Task:
        agent = Preparing(ChatAgentConfig(name="Bot", llm=MockLMConfig(default_response='{"request": "prepare"}')))
        agent.enable_message(Prepare)
        agent.enable_message(echo, use=False, handle=False)
        return Task(agent, interactive=False)

    database = fresh_sqlite(tmp_path / "runs.db")
    store = Store(database)
    with Desk(store, app) as served:
        run_id = served.submit("desk", "go")
        assert served.go_on(run_id).status == "completed"
    recorded = json.dumps(store.inspector.export(run_id))
    database.close()
    assert '"$tool": "echo", ' in recorded
    with PrivateRecord() as scratch:
        replayed = replay(app, json.loads(recorded.replace('"$tool": "echo", ', written)), scratch)
    assert replayed.same, replayed


def test_a_text_of_which_an_earlier_version_did_not_write_that_it_has_no_value_is_the_same(tmp_path: Path) -> None:
    app = App("lost")

    @app.task
    def desk() -> Task:
        lines = {"go": "TO[Nobody]: hello"}
        model = MockLMConfig(response_fn=lambda text: lines.get(text, "DONE"))
        return Task(ChatAgent(ChatAgentConfig(name="Bot", llm=model)), interactive=False)

    database = fresh_sqlite(tmp_path / "runs.db")
    store = Store(database)
    with Desk(store, app) as served:
        run_id = served.submit("desk", "go")
        assert served.go_on(run_id).status == "completed"
    recorded = json.dumps(store.inspector.export(run_id))
    database.close()
    assert ', "content_any": null' in recorded
    with PrivateRecord() as scratch:
        replayed = replay(app, json.loads(recorded.replace(', "content_any": null', "")), scratch)
    assert replayed.same, replayed
