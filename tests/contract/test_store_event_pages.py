"""Pages of a run's events, on each database: they end after so many events, or so many bytes."""

from __future__ import annotations

from tests.support.kept_values import happen
from tests.support.store_parts import new_run

from turnwise.record.runs.queries import PAGE_BYTES
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT

_LARGE = PAGE_BYTES // 2


def _run_with(store: Store, *sizes: int) -> str:
    """A run whose events, after the first one, have documents of so many bytes."""
    run, _ = store.tenant(DEFAULT_TENANT).submit(new_run())
    with store.coordinator.locked(run.id) as transaction:
        for no, size in enumerate(sizes):
            transaction.put_document(f"doc-{no}", {"content": "x" * size})
            happen(transaction, "turn.taken" if no % 2 else "turn.replied", data={"document": f"doc-{no}"})
    return run.id


def test_a_page_ends_behind_the_document_that_fills_it(store: Store) -> None:
    run_id = _run_with(store, *[_LARGE] * 7)

    pages = [store.inspector.events(run_id, after) for after in (0, 3, 5, 7, 8)]

    assert [([event.seq for event in page], page.more) for page in pages] == [
        ([1, 2, 3], True),
        ([4, 5], True),
        ([6, 7], True),
        ([8], False),
        ([], False),
    ]
    assert all(len(event.document["content"]) == _LARGE for page in pages for event in page if event.document)


def test_a_page_backwards_ends_at_the_document_that_fills_it(store: Store) -> None:
    run_id = _run_with(store, *[_LARGE] * 7)

    pages = [store.inspector.events(run_id, limit=5, before=before) for before in (9, 7, 2)]

    assert [[event.seq for event in page] for page in pages] == [[7, 8], [5, 6], [1]]


def test_what_is_left_out_of_a_page_does_not_fill_it(store: Store) -> None:
    run_id = _run_with(store, _LARGE, 10, _LARGE, 10, _LARGE, 10)

    small = store.inspector.events(run_id, types=["turn.taken"])
    large = store.inspector.events(run_id, types=["turn.replied"])

    assert ([event.seq for event in small], small.more) == ([3, 5, 7], False)
    assert ([event.seq for event in large], large.more) == ([2, 4], True)


def test_a_document_that_is_larger_than_a_page_is_a_page_by_itself(store: Store) -> None:
    run_id = _run_with(store, 2 * PAGE_BYTES, 2 * PAGE_BYTES)

    assert [[event.seq for event in store.inspector.events(run_id, after)] for after in (1, 2)] == [[2], [3]]


def test_a_page_tells_that_it_ended_after_the_most_events(store: Store) -> None:
    run_id = _run_with(store, 10, 10)

    pages = [store.inspector.events(run_id, limit=limit) for limit in (2, 4)]

    assert [(len(page), page.more) for page in pages] == [(2, True), (3, False)]
