"""The line of a provider that does not answer, on each database: one looks at a time, and an answer lets all go on."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import pytest
from tests.e2e.waiting import until
from tests.support.store_parts import asked_run, new_queue, new_worker

from turnwise.base.ids import new_id
from turnwise.base.sync_async import run_sync
from turnwise.base.waits import BudgetWait, OutageWait
from turnwise.errors import ModelError, ModelRateLimitError, ModelRequestError, ModelUnavailableError
from turnwise.models.budget.budget import NOTHING
from turnwise.models.budget.call import ModelCall
from turnwise.models.budget.gate import Hold, failed
from turnwise.models.limits.provider import Provider, ProviderWait, Target
from turnwise.models.limits.window import Caps, Room
from turnwise.models.mock import MockLM, MockLMConfig
from turnwise.models.tokens.usage import LLMTokenUsage
from turnwise.record.budgets.provider_windows import look
from turnwise.record.store import Store
from turnwise.record.values.outcomes import Deferral, ProviderDown
from turnwise.record.values.records import Claim, ProviderPlace
from turnwise.serving.attempts.budget_gate import ServedGate, Spending
from turnwise.serving.attempts.provider_places import ServedProviders
from turnwise.serving.attempts.work_times import Work

Claims = Callable[[int], list[Claim]]
HOURS = 3_600.0


@pytest.fixture
def queue() -> str:
    return new_queue()


@pytest.fixture
def target() -> Target:
    provider = Provider(server="http://models", model=new_id("model"), account="k")
    return Target(provider=provider, caps=Caps())


@pytest.fixture
def worker(store: Store, queue: str) -> str:
    return new_worker(store, queue)


@pytest.fixture
def claims(store: Store, queue: str, worker: str) -> Claims:
    def make(number: int) -> list[Claim]:
        for _ in range(number):
            asked_run(store, queue)
        found = [store.worker.claim(queue, worker) for _ in range(number)]
        return [claim for claim in found if claim is not None]

    return make


def fail(
    store: Store, claim: Claim, target: Target, *, own: float = HOURS, shared: float = HOURS, probed: bool | None = None
) -> None:
    """Put the claim off as its worker does after a call without an answer."""
    probes = claim.place is not None and claim.place.probes if probed is None else probed
    down = ProviderDown(wait=lambda _failed: shared, probed=probes)
    wait = ProviderWait(target=target, tokens=0)
    waiting_for = OutageWait(model=target.provider.model)
    assert store.worker.defer(claim, Deferral(seconds=own, waiting_for=waiting_for, provider=wait, down=down))


def take(store: Store, claim: Claim, target: Target) -> ProviderPlace | Room:
    with store.database.begin() as connection:
        return store.worker.take_place(connection, claim, target, 10, "1", in_place=False)


def test_a_lone_failure_waits_by_itself_and_holds_nobody_else(
    store: Store, queue: str, worker: str, target: Target, claims: Claims
) -> None:
    lone, other = claims(2)
    fail(store, lone, target)
    fail_again = store.inspector.situation(lone.run.id)

    assert fail_again.ask is not None and fail_again.ask.due_at is not None
    assert store.worker.claim(queue, worker) is None  # its time has not come
    assert isinstance(take(store, other, target), ProviderPlace)
    assert store.worker.provider_known(target.provider)


def test_two_failures_close_the_line_and_one_at_a_time_looks(
    store: Store, queue: str, worker: str, target: Target, claims: Claims
) -> None:
    first, second, third, fresh = claims(4)
    fail(store, first, target, own=0.0)
    fail(store, second, target, shared=0.0)
    fail(store, third, target, shared=0.0)

    looking = store.worker.claim(queue, worker)

    assert looking is not None and looking.place is not None and looking.place.probes
    assert store.worker.claim(queue, worker) is None, "another looks already"
    assert store.coordinator.next_in_line(queue, 100) == []
    assert isinstance(take(store, fresh, target), ProviderPlace), "a new ask may look, too"
    room = take(store, fresh, target)
    assert isinstance(room, Room) and room.limit == "outage", "but not at once again"


def test_calls_that_had_begun_before_do_not_prolong_the_wait(
    store: Store, queue: str, worker: str, target: Target, claims: Claims
) -> None:
    made = claims(6)
    fail(store, made[0], target)
    for claim in made[1:]:
        fail(store, claim, target, shared=HOURS)

    (state,) = [one for one in store.operator().provider_states() if one.model == target.provider.model]
    assert (state.closed_for, state.closed_until is not None, state.waiting.total()) == ("outage", True, 6)
    # The first failed alone, the second closed the line, and the others only joined it.
    asks = [store.inspector.situation(claim.run.id).ask for claim in made]
    assert [ask.due_at is None for ask in asks if ask is not None] == [False, *[True] * 5]
    assert store.worker.claim(queue, worker) is None


def test_an_answer_lets_all_go_on_at_once(
    store: Store, queue: str, worker: str, target: Target, claims: Claims
) -> None:
    made = claims(5)
    fail(store, made[0], target, own=0.0)
    for claim in made[1:4]:
        fail(store, claim, target, shared=0.0, probed=True)
    fail(store, made[4], target, shared=0.0, probed=True)
    looking = store.worker.claim(queue, worker)
    assert looking is not None and looking.place is not None

    store.worker.settle_place(looking, looking.place, 7, None)

    assert not store.worker.provider_known(target.provider), "nothing binds its calls any more"
    waiting = [store.worker.claim(queue, worker) for _ in range(5)]
    assert sum(claim is not None for claim in waiting) == 4
    assert all(claim.place is None or not claim.place.probes for claim in waiting if claim is not None)


def test_a_look_whose_end_nobody_knows_is_no_answer(
    store: Store, queue: str, worker: str, target: Target, claims: Claims
) -> None:
    first, second = claims(2)
    fail(store, first, target, own=0.0)
    fail(store, second, target, shared=0.0)
    looking = store.worker.claim(queue, worker)
    assert looking is not None and looking.place is not None

    store.worker.settle_place(looking, looking.place, 7, None, answered=False)

    assert store.worker.provider_known(target.provider)
    assert store.worker.claim(queue, worker) is None


def test_a_refusal_is_an_answer(store: Store, queue: str, worker: str, target: Target, claims: Claims) -> None:
    first, second = claims(2)
    fail(store, first, target, own=0.0)
    fail(store, second, target, shared=0.0)
    looking = store.worker.claim(queue, worker)
    assert looking is not None and looking.place is not None

    store.worker.provider_answered(looking.place.bucket)

    assert store.worker.claim(queue, worker) is not None


def test_a_run_that_fails_twice_in_a_row_lets_the_next_one_look(
    store: Store, queue: str, worker: str, target: Target, claims: Claims
) -> None:
    first, second, _ = claims(3)
    fail(store, second, target, own=0.0)
    fail(store, first, target, shared=0.0)
    again = store.worker.claim(queue, worker)
    assert again is not None and again.run.id == first.run.id

    fail(store, again, target)

    following = store.worker.claim(queue, worker)
    assert following is not None and following.run.id == second.run.id


def test_after_a_long_outage_those_go_on_too_that_wait_by_a_time_of_their_own(
    store: Store, queue: str, worker: str, target: Target, claims: Claims
) -> None:
    first, second = claims(2)
    fail(store, first, target, own=0.0)
    fail(store, second, target, shared=0.0)
    step = partial(fail, store, target=target, own=HOURS, shared=0.0)
    for _ in range(3):
        claim = store.worker.claim(queue, worker)
        assert claim is not None
        step(claim)
    looking = store.worker.claim(queue, worker)
    if looking is None:  # both wait by themselves: a new one looks
        asked_run(store, queue)
        looking = store.worker.claim(queue, worker)
        assert looking is not None
        place = take(store, looking, target)
        assert isinstance(place, ProviderPlace) and place.probes
    else:
        assert looking.place is not None
        place = looking.place

    store.worker.settle_place(looking, place, 7, None)

    assert store.worker.claim(queue, worker) is not None


class _Client(MockLM):
    def __init__(self, target: Target) -> None:
        super().__init__(MockLMConfig())
        self._target = target

    def target(self) -> Target:
        return self._target


class Calling:
    """The calls of one process, through the gates of its claims."""

    def __init__(self, store: Store, target: Target) -> None:
        self._store, self._target = store, target
        self._spending = Spending(providers=ServedProviders(store.worker))

    def begin(self, claim: Claim) -> tuple[ServedGate, Hold]:
        gate = ServedGate(self._store.worker, claim, self._spending, Work())
        call = ModelCall(
            model="m",
            prompt=lambda: 1,
            price=lambda *_: NOTHING,
            most=9,
            client=_Client(self._target),
            likely=lambda: 1,
        )
        return gate, run_sync(gate.reserving(call))

    def fail(self, claim: Claim, under_way: tuple[ServedGate, Hold], *, seconds: float = HOURS) -> None:
        """Let the call fail without an answer, and put its claim off, as a worker does."""
        gate, hold = under_way
        failed(hold, ModelUnavailableError("502"))
        line = gate.unanswered(lambda _failed: HOURS)
        assert line is not None
        provider, down = line
        waiting_for = OutageWait(model=None)
        assert self._store.worker.defer(
            claim, Deferral(seconds=seconds, waiting_for=waiting_for, provider=provider, down=down)
        )


def is_away(store: Store, target: Target) -> bool:
    with store.database.read() as connection:
        bucket = look(connection, target.provider.id)
        return bucket is not None and bucket.away


def test_a_busy_provider_of_which_a_few_calls_fail_is_not_taken_to_be_away(
    store: Store, target: Target, claims: Claims
) -> None:
    made = claims(8)
    here, there = Calling(store, target), Calling(store, target)
    under_way = [(here if n < 4 else there).begin(claim) for n, claim in enumerate(made)]

    here.fail(made[0], under_way[0])
    under_way[1][1].settle(LLMTokenUsage())
    assert not store.worker.provider_known(target.provider), "an answer came since"

    here.fail(made[2], under_way[2])
    under_way[4][1].settle(LLMTokenUsage())  # of a process that knows nothing of the failure
    there.fail(made[5], under_way[5])
    assert not is_away(store, target), "an answer came since, if only to the other process"

    under_way[6][1].settle(LLMTokenUsage())
    assert not store.worker.provider_known(target.provider)


def test_an_answer_to_a_call_that_began_before_ends_the_outage(
    store: Store, queue: str, worker: str, target: Target, claims: Claims
) -> None:
    made = claims(4)
    process = Calling(store, target)
    slow = process.begin(made[0])
    for claim in made[1:3]:
        process.fail(claim, process.begin(claim))
    assert is_away(store, target)

    slow[1].settle(LLMTokenUsage())

    assert not store.worker.provider_known(target.provider)
    assert store.worker.claim(queue, worker) is not None, "those in its line go on"


def test_calls_under_way_together_that_fail_in_one_moment_count_as_one(
    store: Store, target: Target, claims: Claims
) -> None:
    made = claims(5)
    process = Calling(store, target)
    under_way, begun = [process.begin(claim) for claim in made[:4]], time.monotonic()
    # A call takes a while to fail. One that fails at once seems to begin later, by the time that its report takes.
    until(lambda: time.monotonic() > begun + 1, "the calls to be old")
    for claim, call in zip(made, under_way, strict=False):
        process.fail(claim, call)

    assert not is_away(store, target)
    process.fail(made[4], process.begin(made[4]))
    assert is_away(store, target), "a call that began since"


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailableError("501", outage=False),
        ModelUnavailableError("nonsense", True, outage=False),
        ModelRequestError("400"),
        ModelRateLimitError("429"),
    ],
)
def test_an_error_that_the_provider_answers_a_look_with_is_an_answer(
    store: Store, queue: str, worker: str, target: Target, claims: Claims, error: ModelError
) -> None:
    first, second = claims(2)
    fail(store, first, target)
    fail(store, second, target, shared=0.0)
    looking = store.worker.claim(queue, worker)
    assert looking is not None and looking.place is not None and looking.place.probes

    _, hold = Calling(store, target).begin(looking)
    failed(hold, error)

    with store.database.read() as connection:
        bucket = look(connection, target.provider.id)
    assert bucket is not None and bucket.outage is None


def test_the_end_of_an_outage_wakes_nobody_who_waits_for_something_else(
    store: Store, queue: str, worker: str, target: Target, claims: Claims
) -> None:
    first, second, third = claims(3)
    fail(store, first, target, own=0.0)
    fail(store, second, target, shared=0.0)
    again = store.worker.claim(queue, worker)
    assert again is not None
    assert store.worker.defer(again, Deferral(seconds=HOURS, waiting_for=BudgetWait(scope="run", limit="cost")))
    for claim in (third, *[None] * 2):
        claim = claim or store.worker.claim(queue, worker)
        assert claim is not None
        fail(store, claim, target, shared=0.0, probed=True)

    store.worker.provider_answered(target.provider.id)

    ask = store.inspector.situation(again.run.id).ask
    assert ask is not None and ask.due_at is not None and ask.due_at > store.inspector.now()
