"""The demo's surroundings: a stand-in model where there is no key, and a server on a temporary file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from turnwise.demo.model import FAKE_MODEL, model_config
from turnwise.processes.settings import load_settings


@dataclass(frozen=True, kw_only=True)
class Desk:
    """The address of the desk, and the model that answers there."""

    url: str
    model: str


@contextmanager
def open_desk(concurrency: int) -> Iterator[Desk]:
    """The support desk as a served application, until the end of the block."""
    from turnwise.app import load_app
    from turnwise.cli.embedded import EmbeddedServer
    from turnwise.record.database.database_url import file_url

    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="turnwise-demo-"))
        if not os.environ.get("TURNWISE_DEMO_DIR"):
            stack.enter_context(_environment({"TURNWISE_DEMO_DIR": folder}))
        if not os.environ.get("OPENAI_API_KEY"):
            stack.enter_context(_stand_in())
        settings = load_settings(
            database_url=file_url(Path(folder) / "runs.db"),
            bind="127.0.0.1:0",
            auth="none",
            concurrency=max(2, concurrency),
        )
        app = load_app("turnwise.demo.app:app")
        server = stack.enter_context(EmbeddedServer(settings, app))
        yield Desk(url=server.url, model=model_config().chat_model)


@contextmanager
def _stand_in() -> Iterator[None]:
    """A local server that plays the model over HTTP, made known to the desk's agents."""
    from turnwise.demo import fake_model
    from turnwise.testing.fake_llm.server import FakeLLMServer

    with ExitStack() as stack:
        server = stack.enter_context(FakeLLMServer(fake_model.answer))
        stack.enter_context(_environment({"OPENAI_BASE_URL": server.base_url, "TURNWISE_DEMO_MODEL": FAKE_MODEL}))
        yield


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the time of the block; the application reads its settings there."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
