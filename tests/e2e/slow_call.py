"""A run whose model takes its time, for tests of what happens meanwhile."""

from __future__ import annotations

from tests.e2e import served
from tests.e2e.expected import scenario_named
from tests.e2e.waiting import until

from turnwise.client import Client
from turnwise.testing.fake_llm.server import FakeLLMServer

SLOW = scenario_named("slow")


class SlowCall:
    """A slow run up to the moment at which its model thinks."""

    def __init__(self, model: FakeLLMServer, client: Client) -> None:
        before = model.stats()["requests"]
        self.run_id = served.submit(client, SLOW)
        # The first answer comes at once; the second request is the slow one.
        until(lambda: model.stats()["requests"] >= before + 2, "the slow call to be in flight")
        assert model.stats()["in_flight"] >= 1
