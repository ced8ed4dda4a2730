"""A server of the tasks of `mcp_desk` that asks for a key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.mcp_desk import app

from turnwise.cli.embedded import EmbeddedServer
from turnwise.processes.settings import load_settings

KEY = "the-key-of-the-desk"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    database = tmp_path_factory.mktemp("server") / "runs.db"
    settings = load_settings(database_url=f"sqlite:///{database}", bind="127.0.0.1:0", auth="token", auth_token=KEY)
    with EmbeddedServer(settings, app) as made:
        yield made
