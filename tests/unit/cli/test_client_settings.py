"""Commands that are clients find the gateway and its key in the environment, or else in `.env`."""

from __future__ import annotations

import pytest
from tests.support.cli import Terminal, terminal
from tests.support.ports import free_port
from typer.main import get_group

from turnwise.cli.client_settings import gateway_key
from turnwise.cli.main import app
from turnwise.cli.refusal import told
from turnwise.errors import UnauthorizedError

__all__ = ["terminal"]


@pytest.fixture
def address() -> str:
    """An address at which nothing listens."""
    return f"http://127.0.0.1:{free_port()}"


@pytest.mark.parametrize("command", [["runs"], ["submit", "triage", "hello"], ["batches", "list"], ["mcp"]])
def test_the_gateway_is_the_one_in_the_file(terminal: Terminal, command: list[str]) -> None:
    (terminal.folder / ".env").write_text("TURNWISE_URL=nowhere\n")
    expected = "expected http://HOST:PORT or https://HOST:PORT"
    assert terminal.refused(*command) == f"TURNWISE_URL (in .env) is 'nowhere'; {expected}"


def test_what_is_given_wins_over_the_environment_and_that_over_the_file(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    (terminal.folder / ".env").write_text(f"PLACE={address}\nexport turnwise_url='${{PLACE}}/file'\n")
    assert f"no gateway answers at {address}/file " in terminal.refused("runs")
    monkeypatch.setenv("TURNWISE_URL", f"{address}/environment")
    assert f"no gateway answers at {address}/environment " in terminal.refused("runs")
    assert f"no gateway answers at {address}/option " in terminal.refused("runs", "--url", f"{address}/option")


def test_the_default_is_kept_where_the_file_names_no_gateway(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr("turnwise.cli.client_settings.LOCAL_GATEWAY", address)
    (terminal.folder / ".env").write_text("TURNWISE_APP=desk:app\n")
    assert f"no gateway answers at {address} " in terminal.refused("runs")
    (terminal.folder / ".env").write_text("TURNWISE_URL=nowhere\n")
    monkeypatch.setenv("TURNWISE_URL", "")
    assert f"no gateway answers at {address} " in terminal.refused("runs")


def test_the_key_is_the_environment_s_or_else_that_of_the_file(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gateway_key() is None
    (terminal.folder / ".env").write_text("TURNWISE_AUTH_TOKEN=token-of-file\n")
    assert gateway_key() == "token-of-file"
    (terminal.folder / ".env").write_text("TURNWISE_AUTH_TOKEN=token-of-file\nTURNWISE_API_KEY=key-of-file\n")
    assert gateway_key() == "key-of-file"
    monkeypatch.setenv("TURNWISE_API_KEY", "")
    assert gateway_key() == "token-of-file"
    monkeypatch.setenv("TURNWISE_AUTH_TOKEN", "token")
    assert gateway_key() == "token"
    monkeypatch.delenv("TURNWISE_API_KEY")
    assert gateway_key() == "token"


def test_a_refused_key_of_the_file_is_said_to_be_there(terminal: Terminal) -> None:
    (terminal.folder / ".env").write_text("TURNWISE_API_KEY=key-of-file\n")
    said = told(UnauthorizedError("send the header"), get_group(app).commands["runs"])
    assert said == "the gateway refuses the key in TURNWISE_API_KEY (in .env): send the header"


def test_a_line_that_cannot_be_read_stops_a_client(terminal: Terminal) -> None:
    (terminal.folder / ".env").write_text("TURNWISE_API_KEY: winter-of-1947\n")
    error = terminal.refused("runs", "--url", "http://127.0.0.1:9")
    assert "line 1: TURNWISE_API_KEY has no value that can be read" in error
    assert "winter" not in error
