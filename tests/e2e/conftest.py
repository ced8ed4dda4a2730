"""A model over HTTP for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e.model import answer

from turnwise.testing.fake_llm.server import FakeLLMServer


@pytest.fixture(scope="package")
def model() -> Iterator[FakeLLMServer]:
    """The model that all processes talk to over HTTP."""
    with FakeLLMServer(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", "none")
        yield server
