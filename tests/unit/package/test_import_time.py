"""The cost of an import of `turnwise`, and that neither it nor a run needs a network."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = (
    "openai",
    "celery",
    "kombu",
    "fastapi",
    "uvicorn",
    "sqlalchemy",
    "alembic",
    "psycopg",
    "pgvector",
    "apsw",
    "sqlite_vec",
    "redis",
    "httpx",
    "json_repair",
    "docstring_parser",
    "libcst",
    "mcp",
    "genai_prices",
    "typer",
    "prometheus_client",
    "opentelemetry",
    "structlog",
)

LOADED = f"""
import json, sys
found = {{name for name in {HEAVY!r} if name in sys.modules}}
print(json.dumps(sorted(found)))
"""

NO_NETWORK = """
import socket
def refuse(*args, **kwargs):
    raise AssertionError("somebody opened a socket")
class Refused(socket.socket):
    __init__ = refuse
socket.socket = Refused
socket.create_connection = refuse
socket.getaddrinfo = refuse
"""

# Loaded at the first model call, migration or connection that needs it.
LATER = {"openai", "alembic", "redis", "genai_prices", "json_repair", "libcst", "mcp", "apsw", "opentelemetry.sdk"}
WEB = {"fastapi", "uvicorn", "limits", "jwt"}
PARTS = (
    "turnwise.cli.embedded, turnwise_gateway.api, turnwise_gateway.server, turnwise_coordinator.coordinator, "
    "turnwise_responders.responders"
)

RUN = """
from turnwise import *
class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square <number>."
    number: int
    def handle(self):
        return AgentDoneTool(content=self.number ** 2)
agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response='{"request": "square", "number": 7}')))
agent.enable_message(Square)
assert Task(agent, interactive=False).run("go", return_type=int) == 49
"""


def python(*parts: str) -> str:
    done = subprocess.run([sys.executable, "-c", "\n".join(parts)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_every_public_name_loads_nothing_heavy() -> None:
    assert json.loads(python("from turnwise import *", LOADED)) == []


def test_neither_does_a_run_with_a_mock_model() -> None:
    assert json.loads(python(RUN, LOADED)) == []


def test_import_and_run_need_no_network() -> None:
    python(NO_NETWORK, RUN)


def test_an_agent_of_a_provider_is_made_without_the_provider_being_asked_or_its_library_loaded() -> None:
    loaded = python(
        NO_NETWORK,
        "from turnwise import *",
        "Task(ChatAgent(ChatAgentConfig(llm=OpenAIGPTConfig(chat_model='gpt-4o', api_key='none'))))",
        LOADED,
    )
    assert json.loads(loaded) == []


@pytest.mark.parametrize(
    ("modules", "spared"),
    [
        pytest.param("turnwise_gateway.service", LATER | {"celery"}, id="gateway"),
        pytest.param("turnwise_coordinator.service", LATER | WEB, id="coordinator"),
        pytest.param("turnwise_responders.service", LATER | WEB, id="responders"),
        pytest.param(PARTS, LATER | {"celery", "kombu"}, id="embedded"),
    ],
)
def test_a_service_loads_no_library_that_it_starts_without(modules: str, spared: set[str]) -> None:
    assert python(f"import {modules}", f"import sys; print(sorted({spared!r} & set(sys.modules)))") == "[]"


def test_a_command_does_not_draw_tracebacks_and_so_loads_nothing_for_it() -> None:
    assert python("import turnwise.cli.main, structlog.dev, sys; print('rich' in sys.modules)") == "False"
    assert python("import turnwise.cli.main, rich; print(rich.__name__)") == "rich"  # whoever wants it still has it


def test_a_worker_loads_no_statements_of_what_it_does_not_do() -> None:
    roles = "turnwise.record.roles"
    loaded = json.loads(
        python("import turnwise_responders.service, sys, json", "print(json.dumps(sorted(sys.modules)))")
    )
    assert {f"{roles}.{one}" for one in ("administrator", "coordinator", "tenant", "inspector")} & set(loaded) == set()
