"""The queues of the embedded server's bus."""

from __future__ import annotations

import threading

from turnwise.bus.envelope import AskEnvelope, Work
from turnwise.bus.in_process import InProcessBus


def test_the_oldest_message_comes_first_whatever_its_queue() -> None:
    bus, taken, done = InProcessBus(), list[str](), threading.Event()

    def take(work: Work) -> None:
        assert isinstance(work, AskEnvelope)
        taken.append(work.ask)
        if len(taken) == 4:
            done.set()

    for ask, queue in (("1", "llm"), ("2", "agent"), ("3", "llm"), ("4", "agent")):
        bus.publish_ask(AskEnvelope(run="r", ask=ask, queue=queue, agent="a", responder="llm", task="t", turn=1))
    bus.consume(["llm", "agent"], take, 1)

    assert done.wait(30)
    bus.close()
    assert taken == ["1", "2", "3", "4"]
