"""A run that is watched says why it keeps silent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from tests.support.client_views import run_view

from turnwise.api.runs import RunWithTree
from turnwise.cli.wait_notices import WaitNotices
from turnwise.client import Client


class Waiting(Client):
    """A client of a run that waits for one thing after the other; it tells when it was asked `often` times."""

    def __init__(self, causes: list[dict[str, Any] | None], often: int) -> None:
        super().__init__("http://127.0.0.1:1")
        self._causes = causes
        self._left = often
        self.asked = threading.Event()

    def run(self, run_id: str) -> RunWithTree:
        cause = self._causes.pop(0) if len(self._causes) > 1 else self._causes[0]
        self._left -= 1
        if not self._left:
            self.asked.set()
        return run_view(waiting_for=cause)


def _events(client: Waiting) -> Iterator[dict[str, Any]]:
    yield {"seq": 1}
    assert client.asked.wait(20)
    yield {"seq": 2}


def test_silence_is_explained_once_for_each_cause() -> None:
    said: list[str] = []
    client = Waiting([{"sentence": "One."}, {"sentence": "One."}, None, {"sentence": "Two."}], often=6)

    events = list(WaitNotices(client, "run_1", said.append, seconds=0.01).between(_events(client)))

    assert events == [{"seq": 1}, {"seq": 2}]
    assert said == ["One.", "Two."]


def test_a_run_that_says_something_is_not_asked() -> None:
    client = Waiting([{"sentence": "One."}], often=1)

    list(WaitNotices(client, "run_1", lambda _sentence: None, seconds=60).between(iter([{"seq": 1}, {"seq": 2}])))

    assert not client.asked.is_set()
