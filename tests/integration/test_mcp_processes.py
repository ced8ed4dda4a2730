"""Tools of MCP servers in processes of their own: over stdio and over HTTP, in served runs, and when they die."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, ListToolsResult, Tool
from tests.e2e.waiting import until
from tests.support.databases import fresh_sqlite
from tests.support.kept_values import kept
from tests.support.mcp_calls import agent_with, from_llm
from tests.support.served_parts import Desk

from turnwise import (
    App,
    ChatAgent,
    MCPTools,
    MockLMConfig,
    Task,
)
from turnwise.errors import ToolOutcomeUnknownError, ToolServerUnavailableError
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.outcomes import Resolution
from turnwise.serving.attempts.served_calls import as_result
from turnwise.serving.moves.permits import permit

SCRIPT = str(Path(__file__).parents[1] / "support" / "mcp_server.py")
COMMAND = [sys.executable, SCRIPT]


def ask(agent: ChatAgent, text: str) -> str:
    doc = agent.agent_response(from_llm(text))
    assert doc is not None
    return doc.content


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_command_is_started_once_given_its_environment_and_ended() -> None:
    with MCPTools(COMMAND, env={"COLOUR": "green"}) as server:
        agent = agent_with(server)
        pids = {ask(agent, '{"request": "process"}') for _ in range(3)}
        colour = ask(agent, '{"request": "environment", "name": "COLOUR"}')

    (pid,) = pids
    assert colour == "green"
    assert gone(int(pid))


def test_a_server_that_dies_is_started_again_but_no_call_is_made_twice() -> None:
    with MCPTools(COMMAND) as server:
        agent = agent_with(server)
        first = int(ask(agent, '{"request": "process"}'))

        with pytest.raises(ToolServerUnavailableError, match="went away during a call of 'die'; whether"):
            ask(agent, '{"request": "die"}')
        second = int(ask(agent, '{"request": "process"}'))
        os.kill(second, signal.SIGKILL)
        third = _after_the_end_is_seen(server, lambda: int(ask(agent, '{"request": "process"}')))

    assert len({first, second, third}) == 3


def _after_the_end_is_seen(server: MCPTools, call: Callable[[], int]) -> int:
    session = next(iter(server._connections.values()))._session
    assert session is not None
    until(lambda: session.ended, "the end of the session to be seen", every=0.01)
    return call()


class HTTPServer:
    """A server that can be stopped and started again at the same port."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen([*COMMAND, str(self.port)], stderr=subprocess.DEVNULL)
        until(self._listens, "the server to listen")

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except ConnectionRefusedError:
            return False
        return True

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def over_http() -> Iterator[HTTPServer]:
    server = HTTPServer()
    yield server
    server.stop()


def test_a_server_over_http_may_be_restarted_between_calls(over_http: HTTPServer) -> None:
    with MCPTools(over_http.url, headers={"X-Who": "tests"}, timeout=20) as server:
        agent = agent_with(server)
        before = ask(agent, '{"request": "process"}')
        over_http.stop()
        with pytest.raises(ToolServerUnavailableError, match="cannot be reached"):
            ask(agent, '{"request": "process"}')
        over_http.start()
        after = ask(agent, '{"request": "process"}')

    assert before != after


class _Proxy(BaseHTTPRequestHandler):
    """Stands before a server with one tool, and answers each call with the status that is asked for."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        told = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
        schema = {"type": "object", "properties": {"status": {"type": "integer"}, "error": {"type": "string"}}}
        listed = {"tools": [{"name": "pay", "inputSchema": schema}]}
        results: dict[str, Any] = {"initialize": told, "tools/list": listed}
        if "id" not in request:
            self._answer(202)
        elif request["method"] in results:
            self._answer(200, {"id": request["id"], "result": results[request["method"]]})
        elif request["method"] == "tools/call":
            given = request["params"]["arguments"]
            error = {"id": request["id"], "error": {"code": -32603, "message": given.get("error")}}
            self._answer(given["status"], error if "error" in given else None)
        else:
            self._answer(200, {"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})

    def do_GET(self) -> None:
        self._answer(405)

    def _answer(self, status: int, message: dict[str, Any] | None = None) -> None:
        body = b"<html>" if message is None else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if message is None else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def proxy() -> Iterator[MCPTools]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Proxy) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        with MCPTools(f"http://127.0.0.1:{http.server_port}/mcp", timeout=20) as server:
            yield server
        http.shutdown()


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_call_that_a_proxy_answers_has_an_unknown_outcome(proxy: MCPTools, status: int) -> None:
    agent = agent_with(proxy)

    with pytest.raises(ToolOutcomeUnknownError, match=f"a call of 'pay' .* by a proxy, with HTTP status {status}; "):
        ask(agent, json.dumps({"request": "pay", "status": status}))

    told = ask(agent, json.dumps({"request": "pay", "status": status, "error": "no money"}))
    assert told == "ERROR: the tool `pay` failed: no money"
    assert ask(agent, '{"request": "pay", "status": 500}').startswith("ERROR: the tool `pay` failed: ")


def test_a_tool_that_speaks_of_a_session_is_called_once() -> None:
    calls: list[Any] = []

    async def list_tools(_context: Any, _params: Any) -> ListToolsResult:
        schema = {"type": "object", "properties": {"item": {"type": "string"}}}
        return ListToolsResult(tools=[Tool(name="buy", description="Buy an item.", input_schema=schema)])

    async def call_tool(_context: Any, params: Any) -> Any:
        calls.append(params.arguments)
        raise MCPError(code=INVALID_PARAMS, message="Session not found")

    shop = Server("shop", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    with MCPTools(shop) as server:
        told = ask(agent_with(server), '{"request": "buy", "item": "pen"}')

    assert (calls, "Session not found" in told) == ([{"item": "pen"}], True)


def test_in_a_served_run_the_responder_opens_its_own_connection(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(MCPTools(COMMAND, include=["add"]))

        def desk() -> Task:
            replies = {"2 and 3": '{"request": "add", "a": 2, "b": 3}', "5": "DONE It is 5."}
            return Task(agent_with(server, llm=MockLMConfig(response_dict=replies)), name="desk", interactive=False)

        app = App("tests")
        app.task(desk)
        app.tree("desk")
        server.close()
        database = fresh_sqlite(tmp_path / "runs.db")
        stack.callback(database.close)
        store = Store(database)
        with Desk(store, app) as served:
            run = served.go_on(served.submit("desk", "2 and 3"))

    assert run.status == "completed", run
    assert run.result is not None
    assert run.result["content"] == "It is 5."


@pytest.mark.parametrize("effect", ["once", "read_only"])
def test_a_served_run_whose_server_dies_in_a_call_waits_for_a_person_if_that_may_not_be_made_twice(
    tmp_path: Path, effect: Any
) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(MCPTools(COMMAND, include=["die"], effects=effect))

        def desk() -> Task:
            model = MockLMConfig(response_fn=lambda said: '{"request": "die"}' if said == "hello" else f"DONE {said}")
            return Task(agent_with(server, llm=model), name="desk", interactive=False)

        app = App("tests")
        app.task(desk)
        database = fresh_sqlite(tmp_path / "runs.db")
        stack.callback(database.close)
        store = Store(database)
        with Desk(store, app) as served:
            run = served.go_on(served.submit("desk"))
            if effect == "read_only":
                assert (run.status, kept(run.error)["code"]) == ("failed", "tool_outcome_unknown")
                return
            assert (run.status, kept(run.waiting_for)["kind"]) == ("waiting", "parked")
            [ask] = store.tenant(DEFAULT_TENANT).parked_asks()
            assert "whether it was carried out is not known" in kept(ask.parked)["error"]["message"]
            store.tenant(DEFAULT_TENANT).resolve(
                run.id, ask.id, Resolution(outcome="happened", result=as_result("it is dead"))
            )
            assert served.responders.answer(permit(ask))
            run = served.go_on(run.id)

    assert run.result is not None
    assert run.result["content"] == "it is dead"


SCRIPT_THAT_ENDS = f"""
import os
from turnwise import ChatAgent, MCPTools
server = MCPTools({COMMAND!r}, include=["process"])
agent = ChatAgent()
agent.enable_message(server.tools())
print(agent.agent_response('{{"request": "process"}}').content)
"""


def test_the_end_of_the_program_ends_the_command_quietly() -> None:
    ran = subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT_THAT_ENDS], capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert gone(int(ran.stdout))
