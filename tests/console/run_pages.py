"""A server of `run_desk` behind a proxy that a test may break."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.console import run_desk, run_model
from tests.e2e.waiting import until
from tests.support.tcp_proxy import TcpProxy, address_in

from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.processes.settings import load_settings
from turnwise.testing.fake_llm.server import FakeLLMServer


@dataclass(frozen=True)
class RunDesk:
    """The server; `url` is its proxy's, the client asks it directly."""

    client: Client
    proxy: TcpProxy
    url: str

    def run(self, task: str, message: str = "Hello", **more: Any) -> str:
        """A run that has ended or waits for a person."""
        run_id = self.client.submit(task, message, **more).id
        until(lambda: self.client.run(run_id).status not in ("queued", "running"), f"the run of {task}")
        return run_id

    def ended(self, run_id: str) -> None:
        """Return once the run has ended."""
        until(lambda: self.client.run(run_id).finished_at, f"the end of {run_id}")


@contextmanager
def served_desk(folder: Path) -> Iterator[RunDesk]:
    """The application, served in this process with a scripted model."""
    with FakeLLMServer(run_model.answer) as model, pytest.MonkeyPatch.context() as patch:
        patch.setenv(run_desk.MODEL_AT, model.base_url)
        patch.setenv("OPENAI_API_KEY", "none")
        settings = load_settings(database_url=f"sqlite:///{folder / 'runs.db'}", bind="127.0.0.1:0")
        with (
            EmbeddedServer(settings, run_desk.app) as server,
            TcpProxy(address_in(server.url)) as proxy,
            Client(server.url) as client,
        ):
            yield RunDesk(client=client, proxy=proxy, url=proxy.url(server.url))


def show(page: Page, run_desk: RunDesk, run_id: str, more: str = "") -> None:
    """Open the page of a run."""
    page.goto(f"{run_desk.url}/#/runs/{run_id}{more}")
    expect(page.get_by_role("main")).to_contain_text(run_id)


def status(page: Page, text: str) -> None:
    """Expect the page to give this as the status of its run."""
    expect(page.locator(".page-note .badge")).to_contain_text(text)
