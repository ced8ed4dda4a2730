"""A model over HTTP for all tests, and what is known of the installations when one fails."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest
from tests.e2e.at_failure import state_of
from tests.e2e.installation import RUNNING
from tests.e2e.model import answer

from turnwise.testing.fake_llm.server import FakeLLMServer


@pytest.fixture(scope="package")
def model() -> Iterator[FakeLLMServer]:
    """The model that all processes talk to over HTTP."""
    with FakeLLMServer(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", "none")
        yield server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure's report what the installations say that still run."""
    report = yield
    if report.failed and call.when == "call":
        report.sections.extend((f"state of {each.url}", state_of(each)) for each in list(RUNNING))
    return report
