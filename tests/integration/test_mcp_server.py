"""`turnwise mcp`: tasks as tools, driven by the protocol's own client over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import MCPError
from mcp_types import INTERNAL_ERROR, CallToolResult, ErrorData
from tests.support.cli import Terminal, terminal
from tests.support.keyed_desk import KEY, server
from tests.support.mcp_clients import COMMAND, Mode, Person, environment, fields, over_http, over_stdio, text
from tests.support.mcp_desk import app

from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.processes.settings import load_settings

__all__ = ["server", "terminal"]

both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


@contextmanager
def served(url: str) -> Iterator[str]:
    """A process that serves the tasks of the gateway over HTTP, and its address."""
    command = [*COMMAND, "--url", url, "--bind", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stderr is not None
        found = next(filter(None, (re.search(r"http://[\d.:]+/mcp", line) for line in process.stderr)))
        yield found[0]
        process.terminate()
        assert process.wait(20) == 0


@pytest.fixture(scope="module")
def address(server: EmbeddedServer) -> Iterator[str]:
    """Where a process serves the desk's tasks over HTTP."""
    with served(server.url) as found:
        yield found


@pytest.fixture
def gateway(server: EmbeddedServer) -> Iterator[Client]:
    with Client(server.url, KEY) as made:
        yield made


async def until(status: str, gateway: Client, run: str) -> None:
    while gateway.run(run).status != status:
        await asyncio.sleep(0.05)


def test_an_application_is_served_to_the_program_that_starts_it(tmp_path: Path) -> None:
    """One process has the protocol, the gateway and the workers; what the application prints is no message."""
    noise: list[Any] = []
    steps: list[tuple[float, str | None]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, message))

    async def use() -> None:
        arguments = ("--app", "tests.support.mcp_desk:app", "--database", f"sqlite:///{tmp_path / 'runs.db'}")
        async with over_stdio(*arguments, mode="auto", folder=tmp_path, noise=noise) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == ["shout_it_out", "trip", "answer_2", "slow", "answer", "result"]
            assert tools["shout_it_out"].title == "shout it/out"
            assert tools["shout_it_out"].description == "Say a text in capitals."
            assert tools["answer_2"].description == "Fails."
            schema = tools["shout_it_out"].input_schema
            assert schema["required"] == ["message"]
            assert {"session_id", "max_cost", "max_tokens", "turns", "deadline", "wait"} < set(schema["properties"])

            result = await client.call_tool("shout_it_out", {"message": "good day"}, progress_callback=tell)
            assert (text(result), result.is_error) == ("GOOD DAY", False)
            told = fields(result)
            assert (told["status"], told["status_code"], told["cost"]) == ("completed", "OK", "0")
            assert steps == [(1, "Shouter: LLM answered")]

            failed = await client.call_tool("answer_2", {"message": "bread"})
            assert failed.is_error
            assert text(failed) == f"Run {fields(failed)['run_id']} failed: there is no bread today"

            wrong = await client.call_tool("trip", {"mesage": "A trip to Lyon", "turns": 0})
            assert wrong.is_error
            assert all(part in text(wrong) for part in ("message: Field required", "mesage: Extra", "turns: "))
            with pytest.raises(MCPError, match="there is no tool 'fly'"):
                await client.call_tool("fly", {"message": "away"})

    asyncio.run(use())
    assert noise == []


def test_a_client_that_goes_away_leaves_its_run_at_work_and_one_that_cancels_ends_it(
    server: EmbeddedServer, gateway: Client, tmp_path: Path
) -> None:
    go = tmp_path / "go"

    async def use() -> str:
        async with over_stdio("--url", server.url, mode="legacy", folder=tmp_path, key=KEY) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.call_tool("slow", {"message": str(go)}), 1)
            [cancelled] = gateway.runs(task="slow", limit=1).items
            await until("cancelled", gateway, cancelled.id)

            left = asyncio.create_task(client.call_tool("slow", {"message": str(go)}))
            while (newest := gateway.runs(task="slow", limit=1).items[0]).id == cancelled.id:
                await asyncio.sleep(0.02)
        left.cancel()
        return newest.id

    run = asyncio.run(use())
    assert gateway.run(run).cancel_requested_at is None
    go.touch()
    asyncio.run(until("completed", gateway, run))


@both_eras
def test_a_question_is_shown_to_the_user_of_a_client_that_asks(address: str, mode: Mode) -> None:
    person = Person("yes")

    async def use() -> CallToolResult:
        async with over_http(address, mode, KEY, person) as client:
            return await client.call_tool("trip", {"message": "A trip to Lyon", "session_id": f"trip-{mode}"})

    result = asyncio.run(use())

    assert text(result) == "It is booked."
    assert fields(result)["session_id"] == f"trip-{mode}"
    assert person.asked == ["Shall I book Lyon?"]


@both_eras
@pytest.mark.parametrize("person", [None, Person(None)], ids=["no forms", "declined"])
def test_a_question_that_no_one_answers_is_answered_later(address: str, mode: Mode, person: Person | None) -> None:
    async def use() -> None:
        async with over_http(address, mode, KEY, person) as client:
            waiting = await client.call_tool("trip", {"message": "A trip to Porto"})
            told = fields(waiting)
            assert (told["status"], told["question"]["text"]) == ("waiting", "Shall I book Porto?")
            assert not waiting.is_error
            assert "call the tool `answer`" in text(waiting)

            looked = await client.call_tool("result", {"run_id": told["run_id"]})
            assert fields(looked)["question"] == told["question"]

            asked = await client.call_tool("answer", {"run_id": told["run_id"], "text": "ask again"})
            assert fields(asked)["question"]["text"] == "Really?"

            done = await client.call_tool("answer", {"run_id": told["run_id"], "text": "yes"})
            assert text(done) == "It is booked."
            late = await client.call_tool("answer", {"run_id": told["run_id"], "text": "no"})
            assert late.is_error

    asyncio.run(use())


class Clerk(Person):
    """Sits at a client that cannot show a question."""

    async def __call__(self, context: Any, params: Any) -> Any:
        return ErrorData(code=INTERNAL_ERROR, message="no window to show it in")


def test_a_client_that_fails_to_ask_gets_the_question(address: str) -> None:
    async def use() -> CallToolResult:
        async with over_http(address, "legacy", KEY, Clerk(None)) as client:
            return await client.call_tool("trip", {"message": "A trip to Braga"})

    result = asyncio.run(use())

    assert not result.is_error
    assert fields(result)["question"]["text"] == "Shall I book Braga?"
    assert f'run_id "{fields(result)["run_id"]}"' in text(result)


@both_eras
def test_a_call_over_http_is_cancelled_with_its_run_or_ends_before_it(
    address: str, mode: Mode, gateway: Client, tmp_path: Path
) -> None:
    go = tmp_path / "go"

    async def use() -> None:
        async with over_http(address, mode, KEY) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.call_tool("slow", {"message": str(go)}), 1)
            [cancelled] = gateway.runs(task="slow", limit=1).items
            await until("cancelled", gateway, cancelled.id)

            early = await client.call_tool("slow", {"message": str(go), "wait": 0.2})
            assert "has not ended" in text(early)
            run = fields(early)["run_id"]
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.call_tool("result", {"run_id": run}), 0.3)
            go.touch()
            assert text(await client.call_tool("result", {"run_id": run})) == "at last"

    asyncio.run(use())


def listed(address: str, **headers: str) -> int:
    """The status of a request for the tools."""
    version = {"MCP-Protocol-Version": "2025-06-18"}
    sent = {"Accept": "application/json, text/event-stream", **version, **headers}
    return httpx2.post(address, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=sent).status_code


def test_over_http_a_client_needs_a_key_that_the_gateway_knows(address: str) -> None:
    assert listed(address) == 401
    assert listed(address, Authorization="Bearer another") == 401
    assert listed(address, Authorization=f"Basic {KEY}") == 401


def test_a_refused_key_and_a_gateway_that_is_away_are_told_apart(address: str, tmp_path: Path) -> None:
    wrong = httpx2.post(address, headers={"Authorization": "Bearer another"})
    assert "not the server's" in wrong.json()["error_description"]

    database = f"sqlite:///{tmp_path / 'away.db'}"
    settings = load_settings(database_url=database, bind="127.0.0.1:0", auth="token", auth_token=KEY)
    with EmbeddedServer(settings, app) as gone, served(gone.url) as orphan:
        gone.stop()
        away = httpx2.post(orphan, headers={"Authorization": f"Bearer {KEY}"}, timeout=60)
    assert (away.status_code, away.json()["error"]) == (503, "temporarily_unavailable")
    assert away.json()["error_description"].startswith("no gateway answers at")


def test_a_program_without_a_key_is_told_where_to_put_it(server: EmbeddedServer, tmp_path: Path) -> None:
    async def listing() -> None:
        async with over_stdio("--url", server.url, mode="auto", folder=tmp_path) as client:
            with pytest.raises(MCPError, match="set TURNWISE_API_KEY in the environment"):
                await client.list_tools()

    asyncio.run(listing())


def test_a_proxy_may_have_another_name_where_keys_are_needed(address: str) -> None:
    with_key = listed(address, Authorization=f"Bearer {KEY}", Host="mcp.example.com")

    assert with_key == listed(address, Authorization=f"Bearer {KEY}")


def test_a_gateway_without_keys_is_offered_to_this_machine_alone(terminal: Terminal, tmp_path: Path) -> None:
    settings = load_settings(database_url=f"sqlite:///{tmp_path / 'open.db'}", bind="127.0.0.1:0")
    with EmbeddedServer(settings, app) as open_server:
        refused = terminal.run("mcp", "--url", open_server.url, "--bind", "0.0.0.0:0", code=2)
        with served(open_server.url) as address:
            # A page whose name was made to point to this machine.
            assert listed(address, Host="evil.example.com") == 421
            assert listed(address) not in (401, 421)

    assert "the gateway asks for no key, so whoever reaches 0.0.0.0 could start runs" in refused


def test_a_gateway_or_an_application_is_offered_and_not_both(terminal: Terminal) -> None:
    both = terminal.refused("mcp", "--url", "http://127.0.0.1:9", "--app", "desk:app")
    assert both.startswith("both a gateway (--url or TURNWISE_URL) and an application (--app) are given")
    stray = terminal.refused("mcp", "--url", "http://127.0.0.1:9", "--database", "sqlite:///x.db")
    assert stray.startswith("--database is for the runs of --app")
