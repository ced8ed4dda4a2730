"""The watchers that are woken by messages of the bus."""

from __future__ import annotations

import asyncio

import pytest

import turnwise_gateway.watching.announcements as announcing
from turnwise.bus.envelope import CancelNotice, Notice, RunNotice, TextNotice, TextWatchNotice, TokenNotice, WatchNotice
from turnwise.bus.in_process import InProcessBus
from turnwise_gateway.watching.watch import Watch, Watcher


def _piece(run: str, offset: int, text: str) -> TokenNotice:
    return TokenNotice(run=run, ask="a", attempt=1, offset=offset, text=text)


def test_a_watcher_is_woken_by_its_own_run_and_gets_the_text_in_order() -> None:
    async def scenario() -> tuple[list[str], bool, bool]:
        bus = InProcessBus()
        watch = Watch(bus)
        watch.open()
        with watch.of("run_1") as mine, watch.of("run_2") as other:
            bus.notify(CancelNotice(run="run_1"))
            pieces = [_piece("run_1", 0, "a"), _piece("run_other", 0, "x"), _piece("run_1", 1, "b")]
            bus.tell(watch.address, TextNotice(pieces=pieces))
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


def test_workers_hear_which_runs_are_watched_for_their_text_for_as_long_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(announcing, "_AGAIN", 0.05)

    async def scenario() -> tuple[str, list[WatchNotice]]:
        bus, heard = InProcessBus(), list[Notice]()
        bus.listen(heard.append, as_worker=True)
        watch = Watch(bus)
        watch.open()
        with watch.of("run_1"):  # it waits for the end only
            with watch.of("run_2", text=True), watch.of("run_2", text=True), watch.of("run_3", text=True):
                while not [one for one in heard if isinstance(one, WatchNotice) and len(one.runs) == 2]:
                    await asyncio.sleep(0.01)
            # Announced by the next repetition as well, unless it is forgotten.
            heard.clear()
            with watch.of("run_4", text=True):
                while len(heard) < 3:
                    await asyncio.sleep(0.01)
        await watch.close()
        bus.close()
        return watch.address, [one for one in heard if isinstance(one, WatchNotice)]

    address, announced = asyncio.run(asyncio.wait_for(scenario(), 20))

    assert {one.listener for one in announced} == {address}
    assert announced[-1].runs == ["run_4"]


def test_a_worker_that_comes_later_hears_of_the_watch_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcing, "_AGAIN", 0.05)

    async def scenario() -> None:
        bus, heard, later = InProcessBus(), list[Notice](), list[Notice]()
        bus.listen(heard.append, as_worker=True)
        watch = Watch(bus)
        watch.open()
        with watch.of("run_1", text=True):
            while not heard:
                await asyncio.sleep(0.01)
            bus.listen(later.append, as_worker=True)
            while not later:
                await asyncio.sleep(0.01)
        await watch.close()
        bus.close()

    asyncio.run(asyncio.wait_for(scenario(), 20))


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


def test_workers_hear_whose_text_is_wanted_of_every_model_while_such_a_reader_is_there() -> None:
    async def scenario() -> list[Notice]:
        bus, heard = InProcessBus(), list[Notice]()
        bus.listen(heard.append, as_worker=True)
        watch = Watch(bus)
        watch.open()
        with watch.of("run_1", text=True):
            while not heard:
                await asyncio.sleep(0.01)
            with watch.of("run_1", text=True, eager=True):
                while not [one for one in heard if isinstance(one, TextWatchNotice)]:
                    await asyncio.sleep(0.01)
            with watch.of("run_2", text=True):
                while not any("run_2" in one.runs for one in heard if isinstance(one, WatchNotice)):
                    await asyncio.sleep(0.01)
        await watch.close()
        bus.close()
        return heard

    heard = asyncio.run(asyncio.wait_for(scenario(), 20))

    assert [one.runs for one in heard if isinstance(one, TextWatchNotice)] == [["run_1"]]


def test_pieces_of_an_answer_let_no_one_look_into_the_record() -> None:
    watcher = Watcher()
    first = watcher.must_look(60)
    watcher.hear(_piece("run_1", 0, "a"))
    after_a_piece = watcher.must_look(60)
    watcher.hear(RunNotice(run="run_1", seq=2))
    after_an_event = watcher.must_look(60)
    watcher.look_again()
    for_more = watcher.must_look(0)
    # Notices may be lost: whoever has not looked for so long looks.
    after_a_while = watcher.must_look(60)

    assert (first, after_a_piece, after_an_event, for_more, after_a_while) == (True, False, True, True, True)
