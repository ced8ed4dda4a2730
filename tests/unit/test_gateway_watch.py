"""Who is woken by what the bus tells."""

from __future__ import annotations

import asyncio

from turnwise.bus.envelope import CancelNotice, RunNotice, TokenNotice
from turnwise.bus.in_process import InProcessBus
from turnwise_gateway.watch import Watch


def test_a_watcher_is_woken_by_its_own_run_and_gets_the_text_in_order() -> None:
    async def scenario() -> tuple[list[str], bool, bool]:
        bus = InProcessBus()
        watch = Watch(bus)
        watch.open()
        with watch.of("run_1") as mine, watch.of("run_2") as other:
            bus.notify(CancelNotice(run="run_1"))
            for offset, text in enumerate("ab"):
                bus.notify(TokenNotice(run="run_1", ask="a", attempt=1, offset=offset, text=text))
            bus.notify(RunNotice(run="run_1", seq=2))
            texts: list[str] = []
            while len(texts) < 2:
                await mine.wait(5)
                texts += [notice.text for notice in mine.take_deltas()]
            result = texts, mine.deltas == other.deltas, other.changed.is_set()
        await watch.close()
        bus.close()
        return result

    texts, nothing_left, other_woken = asyncio.run(scenario())

    assert texts == ["a", "b"]
    assert nothing_left
    assert not other_woken


def test_a_watcher_that_nobody_wakes_looks_again_after_its_timeout() -> None:
    async def scenario() -> bool:
        with Watch(InProcessBus()).of("run_1") as watcher:
            await asyncio.wait_for(watcher.wait(0.01), 5)
            return watcher.changed.is_set()

    assert asyncio.run(scenario()) is False


def test_stopping_sends_every_watcher_home() -> None:
    async def scenario() -> bool:
        watch = Watch(InProcessBus())
        with watch.of("run_1") as one, watch.of("run_2") as two:
            watch.stop()
            await asyncio.wait_for(asyncio.gather(one.wait(60), two.wait(60)), 5)
        return watch.stopping

    assert asyncio.run(scenario())
