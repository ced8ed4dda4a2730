"""Places with providers, on each database: never more than the limit, and nothing leaks."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from tests.support.store_parts import asked_run, claimed, lose, new_queue, new_worker

from turnwise.base.ids import new_id
from turnwise.base.waits import ProviderLimitWait, RetryWait
from turnwise.errors.rate_limits import Quota, RateLimits
from turnwise.models.limits.provider import Provider, ProviderWait, Target
from turnwise.models.limits.window import Caps, Room
from turnwise.record.store import Store
from turnwise.record.values.outcomes import Deferral, Reply
from turnwise.record.values.records import Claim, ProviderPlace


def target(**caps: float) -> Target:
    """A provider of the test's own."""
    provider = Provider(server="http://models", model=new_id("model"), account="k")
    return Target(provider=provider, caps=Caps(**caps))  # type: ignore[arg-type]


def take(
    store: Store, claim: Claim, of: Target, tokens: int = 10, call_no: str = "1", *, in_place: bool = False
) -> ProviderPlace | Room:
    with store.database.begin() as connection:
        return store.worker.take_place(connection, claim, of, tokens, call_no, in_place=in_place)


def place(
    store: Store, claim: Claim, of: Target, tokens: int = 10, call_no: str = "1", *, in_place: bool = False
) -> ProviderPlace:
    taken = take(store, claim, of, tokens, call_no, in_place=in_place)
    assert isinstance(taken, ProviderPlace)
    return taken


def wait(store: Store, claim: Claim, of: Target, tokens: int = 10, seconds: float = 5.0) -> None:
    """Put the claim off, as its worker does that found no room."""
    waiting_for = ProviderLimitWait(model=of.provider.model, limit="requests")
    waits = ProviderWait(target=of, tokens=tokens)
    assert store.worker.defer(claim, Deferral(seconds=seconds, waiting_for=waiting_for, provider=waits))


@pytest.fixture
def queue() -> str:
    return new_queue()


@pytest.fixture
def claims(store: Store, queue: str) -> Callable[[int], list[Claim]]:
    def make(number: int) -> list[Claim]:
        worker = new_worker(store, queue)
        for _ in range(number):
            asked_run(store, queue)
        return [claimed(store, queue, worker) for _ in range(number)]

    return make


Claims = Callable[[int], list[Claim]]


def test_what_waits_in_line_for_a_provider_is_overlooked_by_nobody_but_the_deaf(
    store: Store, queue: str, claims: Claims
) -> None:
    plain, in_line = claims(2)
    assert store.worker.defer(plain, Deferral(seconds=0, waiting_for=RetryWait()))
    wait(store, in_line, target(requests=1), seconds=0)

    assert store.worker.overlooked([queue], 0.0) == {queue: 2}
    assert store.worker.overlooked([queue], 0.0, in_line=False) == {queue: 1}


def test_threads_of_two_stores_together_take_no_more_than_the_limit(store: Store, claims: Claims) -> None:
    of, mine = target(requests=7), claims(24)
    stores, taken = [store, Store(store.database)], []

    def work(number: int) -> None:
        for claim in mine[number::6]:
            if isinstance(found := take(stores[number % 2], claim, of), ProviderPlace):
                taken.append(found)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 7


def test_tokens_are_reserved_before_and_settled_after(store: Store, claims: Claims) -> None:
    of, (first, second) = target(tokens=100), claims(2)
    held = place(store, first, of, tokens=90)
    refused = take(store, second, of, tokens=50)
    assert isinstance(refused, Room) and refused.limit == "tokens"
    store.worker.settle_place(first, held, 20, None)
    assert isinstance(take(store, second, of, tokens=50), ProviderPlace)


def test_a_call_that_was_not_made_gives_its_place_back(store: Store, claims: Claims) -> None:
    of, (first, second) = target(requests=1, concurrency=1), claims(2)
    store.worker.release_place(first, place(store, first, of))
    assert isinstance(take(store, second, of), ProviderPlace)


def test_only_so_many_calls_are_under_way(store: Store, claims: Claims) -> None:
    of, (first, second) = target(concurrency=2), claims(2)
    held = place(store, first, of)
    place(store, first, of, call_no="2")
    refused = take(store, second, of)
    assert isinstance(refused, Room) and refused.limit == "concurrency"
    store.worker.settle_place(first, held, 10, None)
    assert isinstance(take(store, second, of), ProviderPlace)


def test_the_places_of_a_worker_that_died_come_back_when_its_asks_are_taken_over(store: Store, claims: Claims) -> None:
    of, (dead, other) = target(concurrency=1), claims(2)
    place(store, dead, of)
    assert isinstance(take(store, other, of), Room)
    lose(store, dead)
    alive = claimed(store, other.ask.queue or "", new_worker(store, other.ask.queue or ""))
    assert isinstance(take(store, alive, of), ProviderPlace)


def test_who_waits_in_line_is_not_claimed_before_there_is_room(store: Store, queue: str, claims: Claims) -> None:
    of, (first, second) = target(requests=1), claims(2)
    place(store, first, of)
    wait(store, second, of)
    assert store.inspector.run(second.run.id).status == "waiting"
    assert store.worker.claim(queue, second.worker_id) is None
    assert store.coordinator.next_in_line(queue, 10) == []
    stat = next(stat for stat in store.inspector.queue_stats() if stat.queue == queue)
    assert (stat.runnable, stat.leased, stat.delayed) == (0, 1, 1)


def test_a_claim_takes_the_place_that_its_ask_waited_for(store: Store, queue: str, claims: Claims) -> None:
    of, (first, second, third) = target(concurrency=1), claims(3)
    held = place(store, first, of)
    wait(store, second, of)
    wait(store, third, of)
    assert store.worker.claim(queue, first.worker_id) is None
    store.worker.settle_place(first, held, 10, None)
    assert [ask.run_id for ask in store.coordinator.next_in_line(queue, 10)] == [second.run.id]
    again = claimed(store, queue, first.worker_id)
    assert (again.run.id, again.run.status) == (second.run.id, "running")
    assert again.place is not None
    assert store.worker.claim(queue, first.worker_id) is None
    store.worker.settle_place(again, again.place, 10, None)
    assert claimed(store, queue, first.worker_id).run.id == third.run.id


def test_nobody_pushes_in_before_those_in_line(store: Store, queue: str, claims: Claims) -> None:
    of, (first, second, third) = target(concurrency=1), claims(3)
    held = place(store, first, of)
    wait(store, second, of)
    store.worker.settle_place(first, held, 10, None)
    refused = take(store, third, of)
    assert isinstance(refused, Room) and refused.limit is not None
    wait(store, third, of)
    assert claimed(store, queue, first.worker_id).run.id == second.run.id


def test_a_call_that_waits_in_its_worker_does_not_stand_behind_the_line(
    store: Store, queue: str, claims: Claims
) -> None:
    of, (first, second) = target(concurrency=1), claims(2)
    held = place(store, first, of)
    wait(store, second, of)
    store.worker.settle_place(first, held, 10, None)
    assert isinstance(take(store, first, of, call_no="2", in_place=True), ProviderPlace)
    assert store.worker.claim(queue, first.worker_id) is None


@pytest.fixture
def ranked(store: Store, queue: str) -> Callable[..., list[Claim]]:
    """Claims of asks with these priorities, in this order."""

    def make(*priorities: int) -> list[Claim]:
        worker = new_worker(store, queue)
        made = []
        for priority in priorities:
            asked_run(store, queue, priority=priority)
            made.append(claimed(store, queue, worker))
        return made

    return make


def test_those_in_line_leave_its_place_to_a_call_that_waits_in_its_worker(
    store: Store, queue: str, ranked: Callable[..., list[Claim]]
) -> None:
    of, (first, urgent, in_line, late) = target(concurrency=1), ranked(0, 5, 0, 0)
    held = place(store, first, of)
    refused = take(store, urgent, of, in_place=True)
    assert isinstance(refused, Room) and refused.limit == "concurrency"
    store.worker.settle_place(first, held, 10, None)
    assert isinstance(take(store, late, of), Room), "no one stands in line, but the place is the urgent one's"
    wait(store, in_line, of)
    assert store.worker.claim(queue, first.worker_id) is None

    held = place(store, urgent, of, call_no="2", in_place=True)

    store.worker.settle_place(urgent, held, 10, None)
    assert claimed(store, queue, first.worker_id).run.id == in_line.run.id


def test_who_comes_before_it_in_line_does_not_wait_for_a_call_in_a_worker(
    store: Store, queue: str, ranked: Callable[..., list[Claim]]
) -> None:
    of, (first, urgent, slow) = target(concurrency=1), ranked(0, 5, 0)
    held = place(store, first, of)
    wait(store, urgent, of)
    assert isinstance(take(store, slow, of, in_place=True), Room)
    store.worker.settle_place(first, held, 10, None)
    assert claimed(store, queue, first.worker_id).run.id == urgent.run.id


def test_of_calls_that_wait_in_their_workers_the_more_urgent_one_is_next(
    store: Store, ranked: Callable[..., list[Claim]]
) -> None:
    of, (first, urgent, slow) = target(concurrency=1), ranked(0, 5, 0)
    held = place(store, first, of)
    for claim in (slow, urgent):
        assert isinstance(take(store, claim, of, in_place=True), Room)
    store.worker.settle_place(first, held, 10, None)
    assert isinstance(take(store, slow, of, in_place=True), Room)
    assert isinstance(take(store, urgent, of, in_place=True), ProviderPlace)


def test_a_call_that_waits_in_its_worker_keeps_one_place_and_no_more(
    store: Store, queue: str, ranked: Callable[..., list[Claim]]
) -> None:
    of, (first, second, urgent, *others) = target(concurrency=2), ranked(0, 0, 5, 0, 0)
    held = [place(store, claim, of) for claim in (first, second)]
    assert isinstance(take(store, urgent, of, in_place=True), Room)
    for claim in others:
        wait(store, claim, of)
    for claim, of_claim in zip((first, second), held, strict=True):
        store.worker.settle_place(claim, of_claim, 10, None)
    assert claimed(store, queue, first.worker_id).run.id == others[0].run.id
    assert store.worker.claim(queue, first.worker_id) is None
    assert isinstance(take(store, urgent, of, call_no="2", in_place=True), ProviderPlace)


def test_a_large_call_in_a_worker_is_not_overtaken_by_small_ones(
    store: Store, queue: str, ranked: Callable[..., list[Claim]]
) -> None:
    of, (first, large, small) = target(tokens=100), ranked(0, 0, 0)
    held = place(store, first, of, tokens=60)
    assert isinstance(take(store, large, of, tokens=80, in_place=True), Room)
    assert isinstance(take(store, small, of, tokens=30), Room)
    store.worker.settle_place(first, held, 0, None)
    assert isinstance(take(store, large, of, tokens=80, in_place=True), ProviderPlace)
    assert isinstance(take(store, small, of, tokens=20), ProviderPlace)


def test_in_line_priority_and_tenants_decide_as_everywhere(store: Store, queue: str) -> None:
    of, worker = target(concurrency=1), new_worker(store, queue)
    for tenant, priority in (("a", 0), ("a", 0), ("a", 0), ("b", 0), ("b", 5)):
        asked_run(store, queue, run={"tenant": tenant}, priority=priority)
    held: tuple[Claim, ProviderPlace] | None = None
    while claim := Store(store.database).worker.claim(queue, worker):
        taken = take(store, claim, of)
        if isinstance(taken, ProviderPlace):
            held = (claim, taken)
        else:
            wait(store, claim, of)
    assert held is not None and held[0].ask.priority == 5
    order = []
    for _ in range(4):
        store.worker.settle_place(held[0], held[1], 10, None)
        claim = claimed(Store(store.database), queue, worker)
        assert claim.place is not None
        held = (claim, claim.place)
        order.append(claim.run.tenant)
    assert order.index("b") <= 1 and order.count("a") == 3


def test_a_large_call_at_the_head_is_not_overtaken_by_small_ones(store: Store, queue: str, claims: Claims) -> None:
    of, (first, large, small) = target(tokens=100), claims(3)
    held = place(store, first, of, tokens=60)
    wait(store, large, of, tokens=80)
    wait(store, small, of, tokens=20)
    assert (
        store.worker.claim(queue, first.worker_id) is None
    )  # there is room for the small one, but the other was before it
    store.worker.settle_place(first, held, 0, None)
    assert claimed(store, queue, first.worker_id).run.id == large.run.id
    assert store.worker.claim(queue, first.worker_id) is not None


def test_asks_for_other_providers_go_on_meanwhile(store: Store, queue: str, claims: Claims) -> None:
    of, other, (first, second, third) = target(requests=1), target(requests=1), claims(3)
    place(store, first, of)
    wait(store, second, of)
    wait(store, third, other)
    assert claimed(store, queue, first.worker_id).run.id == third.run.id


def announced(remaining: int, limit: int = 5) -> RateLimits:
    return RateLimits(requests=Quota(limit=limit, remaining=remaining, reset=60.0))


def test_limits_are_learned_for_all_workers(store: Store, claims: Claims) -> None:
    of, (first, second, third) = target(), claims(3)
    assert not store.worker.provider_known(of.provider)
    store.worker.learn_limits(of, announced(remaining=3), 10)
    assert Store(store.database).worker.provider_known(of.provider)
    held = place(store, first, of)
    place(store, second, of)
    store.worker.settle_place(first, held, 10, announced(remaining=2))
    assert isinstance(take(store, third, of), ProviderPlace)
    assert isinstance(take(store, third, of, call_no="2"), Room)


def test_a_configured_limit_wins_over_an_announced_one(store: Store, claims: Claims) -> None:
    of, (claim,) = target(requests=2), claims(1)
    held = place(store, claim, of)
    store.worker.settle_place(claim, held, 10, announced(remaining=99, limit=100))
    place(store, claim, of, call_no="2")
    assert isinstance(take(store, claim, of, call_no="3"), Room)


def test_a_refusal_closes_the_provider_for_all_workers(store: Store, queue: str, claims: Claims) -> None:
    of, (first, second) = target(), claims(2)
    assert store.worker.close_provider(of, RateLimits(retry_after=60.0)) == pytest.approx(60.0)
    refused = take(Store(store.database), first, of)
    assert isinstance(refused, Room) and refused.limit == "requests"
    wait(store, second, of)
    assert store.worker.claim(queue, first.worker_id) is None


def test_what_is_told_of_a_call_without_news_writes_nothing(store: Store, claims: Claims) -> None:
    of, (claim,) = target(requests=5), claims(1)
    held = place(store, claim, of)
    store.worker.settle_place(claim, held, 10, announced(remaining=4))
    again = place(store, claim, of, call_no="2")
    with store.database.begin() as connection:
        connection.exec_driver_sql(f"DELETE FROM provider_buckets WHERE id = '{of.provider.id}'")
    store.worker.settle_place(claim, again, 10, announced(remaining=3))
    assert not store.worker.provider_known(of.provider)


def test_an_answered_ask_waits_for_nobody(store: Store, queue: str, claims: Claims) -> None:
    of, (first, second) = target(concurrency=1), claims(2)
    held = place(store, first, of)
    wait(store, second, of)
    store.worker.settle_place(first, held, 10, None)
    assert store.worker.reply(claimed(store, queue, first.worker_id), Reply(kind="nothing"))
    assert isinstance(take(store, first, of, call_no="2"), ProviderPlace)


def test_a_provider_is_shown_with_its_limits_and_who_waits(store: Store, queue: str, claims: Claims) -> None:
    holder, waiting = claims(2)
    of = target(requests=1, tokens=100, concurrency=3)
    place(store, holder, of, tokens=30)
    wait(store, waiting, of)
    tenant = store.tenant(holder.run.tenant)

    (state,) = [one for one in tenant.provider_states() if one.model == of.provider.model]

    assert (state.server, state.caps) == ("http://models", Caps(requests=1, tokens=100, concurrency=3))
    assert (state.used_requests, state.used_tokens, state.under_way) == (1, 30, 1)
    assert (state.closed_for, state.closed_until is not None) == ("requests", True)
    assert (state.waiting[holder.run.tenant], state.runs) == (1, (waiting.run.id,))
    others = [one for one in store.tenant(new_id("tenant")).provider_states() if one.model == of.provider.model]
    assert [(one.waiting.total(), one.runs, one.oldest_age) for one in others] == [(0, (), 0.0)]


def test_a_limit_that_was_raised_holds_for_those_in_line_as_well(store: Store, queue: str, claims: Claims) -> None:
    of, (first, *others) = target(requests=1), claims(4)
    place(store, first, of)
    for claim in others[:2]:
        assert isinstance(take(store, claim, of), Room)
        wait(store, claim, of, seconds=0)
    assert store.worker.claim(queue, first.worker_id) is None

    raised = Target(provider=of.provider, caps=Caps(requests=100))
    assert isinstance(take(store, others[2], raised), Room)  # behind those in line

    in_line = [store.worker.claim(queue, first.worker_id) for _ in range(2)]
    assert all(claim is not None and claim.place is not None for claim in in_line)
    assert isinstance(take(store, others[2], raised), ProviderPlace)
