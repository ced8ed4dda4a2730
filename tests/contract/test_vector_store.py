"""One contract for every vector store, over a SQLite file and over PostgreSQL."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.support.databases import NoPostgresError, fresh_postgres, pgvector_server
from tests.support.services import missing
from tests.support.vector_stores import PAGES, FixedEmbedder, documents, sqlite_config

from turnwise import (
    Document,
    Embedder,
    HashingEmbedder,
    PgVectorConfig,
    VectorStore,
    VectorStoreConfig,
    ingest_documents,
)
from turnwise.errors import ConfigurationError, InvalidRequestError
from turnwise.integrations.retrieval.indexed_store import IndexedStore
from turnwise.integrations.retrieval.opening import Opened

# (embedder, collection) -> a configuration of the database under test.
Configure = Callable[..., VectorStoreConfig]


@pytest.fixture(scope="session")
def pgvector_url() -> Iterator[str]:
    try:
        with fresh_postgres(pgvector_server()) as url:
            yield url
    except NoPostgresError as error:
        missing(str(error))


@pytest.fixture(params=["sqlite", pytest.param("pgvector", marks=pytest.mark.postgres)])
def configure(request: pytest.FixtureRequest, tmp_path: Path) -> Configure:
    if request.param == "sqlite":
        return lambda embedder=None, collection="documents": sqlite_config(tmp_path, embedder, collection)
    url = request.getfixturevalue("pgvector_url")

    def postgres(embedder: Embedder | None = None, collection: str = "documents") -> VectorStoreConfig:
        return PgVectorConfig(url=url, embedder=embedder or HashingEmbedder(), collection=collection, pool_size=2)

    return postgres


@pytest.fixture
def open_store(configure: Configure) -> Iterator[Callable[..., IndexedStore]]:
    """Opens stores with connections of their own; they are emptied and closed at the end."""
    made: list[IndexedStore] = []

    def open_one(embedder: Embedder | None = None, collection: str = "documents") -> IndexedStore:
        config = configure(embedder, collection)
        made.append(IndexedStore(embedder=config.embedder, index=Opened().index(config)))
        return made[-1]

    yield open_one
    for store in made:
        store.clear()
        store.close()


@pytest.fixture
def store(open_store: Callable[..., IndexedStore]) -> IndexedStore:
    return open_store()


def sources(found: list[Any]) -> list[str]:
    return [document.source for document in found]


def test_a_store_has_the_methods_that_an_agent_may_call(store: IndexedStore) -> None:
    assert isinstance(store, VectorStore)


def test_an_empty_store_finds_nothing_and_has_nothing_to_delete(store: IndexedStore) -> None:
    assert store.search("refund") == []
    assert store.count() == 0
    assert store.delete(["refunds.md"]) == 0
    assert store.delete(where={"even": True}) == 0
    assert store.add([]) == []
    assert store.add([], replacing={"even": True}) == []
    store.clear()


def test_the_nearest_document_is_found_first_with_text_metadata_and_score(store: IndexedStore) -> None:
    ids = store.add(documents())

    found = store.search("How long does a refund take?", k=2)

    assert ids == list(PAGES)
    assert len(found) == 2
    assert found[0].text == PAGES["refunds.md"]
    assert found[0].metadata == {"source": "refunds.md", "number": 0, "even": True}
    assert found[0].metadata.source == "refunds.md"
    assert found[0].id == "refunds.md"
    assert 1 >= found[0].score > found[1].score


def test_a_score_is_the_cosine_of_the_angle(open_store: Callable[..., IndexedStore]) -> None:
    vectors = {
        "same": [3.0, 0.0],
        "half": [1.0, 1.0],
        "across": [0.0, 2.0],
        "against": [-1.0, 0.0],
        "query": [1.0, 0.0],
    }
    store = open_store(FixedEmbedder(vectors=vectors))
    store.add(Document(text=text) for text in ("against", "half", "same", "across"))

    found = store.search("query", k=10)

    assert [document.text for document in found] == ["same", "half", "across", "against"]
    assert [document.score for document in found] == pytest.approx([1, 0.5**0.5, 0, -1], abs=1e-6)


def test_documents_below_the_least_score_are_left_out(store: IndexedStore) -> None:
    store.add(documents())
    best, second, *_ = store.search("How long does a refund take?")

    assert store.search("How long does a refund take?", min_score=best.score) == [best]
    assert store.search("How long does a refund take?", min_score=second.score) == [best, second]
    assert store.search("How long does a refund take?", min_score=1.0) == []


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, {"refunds.md", "password.md", "sync.md", "invoices.md"}),
        ({"source": "sync.md"}, {"sync.md"}),
        ({"source": ["sync.md", "refunds.md", "other.md"]}, {"sync.md", "refunds.md"}),
        ({"even": True}, {"refunds.md", "sync.md"}),
        ({"even": False, "number": 3}, {"invoices.md"}),
        ({"number": 1}, {"password.md"}),
        ({"number": 1.0}, {"password.md"}),
        ({"number": True}, set()),
        ({"even": 1}, set()),
        ({"number": "1"}, set()),
        ({"source": []}, set()),
        ({"nothing": "like that"}, set()),
        ({"source'] OR true --": "x"}, set()),
    ],
)
def test_a_filter_narrows_search_count_and_delete_alike(
    store: IndexedStore, where: dict[str, Any], expected: set[str]
) -> None:
    store.add(documents())

    assert set(sources(store.search("a note", k=10, where=where))) == expected
    assert store.count(where) == len(expected)
    if where:
        assert store.delete(where=where) == len(expected)
        assert set(sources(store.search("a note", k=10))) == set(PAGES) - expected


def test_a_filter_may_name_any_number_of_values(store: IndexedStore) -> None:
    store.add(documents())
    many = ["sync.md", *(f"page {number}.md" for number in range(70_000))]

    assert sources(store.search("a note", where={"source": many, "even": [True] * 1_000})) == ["sync.md"]
    assert store.delete(where={"source": many}) == 1


def test_a_filter_is_applied_before_the_nearest_are_chosen(store: IndexedStore) -> None:
    many = [Document(text=f"refund number {n}", metadata={"source": "bulk", "number": n}) for n in range(300)]
    store.add([*many, Document(text="Something quite different.", metadata={"source": "rare"})])

    found = store.search("refund", k=4, where={"source": "rare"})

    assert sources(found) == ["rare"]


def test_a_document_takes_the_place_of_the_one_with_its_id(store: IndexedStore) -> None:
    store.add([Document(id="a", text="Cats purr.", metadata={"source": "old"})])
    store.add([Document(id="a", text="first of two"), Document(id="a", text="Dogs bark.", metadata={"source": "new"})])

    assert store.count() == 1
    assert sources(store.search("dogs")) == ["new"]
    assert store.count({"source": "old"}) == 0


def test_the_same_content_added_twice_is_there_once(store: IndexedStore) -> None:
    for _ in range(2):
        store.add([Document(text="Cats purr.", metadata={"source": "a"})])

    assert store.count() == 1


def test_what_is_replaced_is_gone_when_the_new_is_there(store: IndexedStore) -> None:
    store.add([*documents(), Document(id="stale", text="An old part.", metadata={"document": "guide"})])

    store.add(
        [Document(id="fresh", text="A new part.", metadata={"document": "guide"})], replacing={"document": "guide"}
    )

    assert store.count({"document": "guide"}) == 1
    assert store.search("part", k=1)[0].id == "fresh"
    assert store.add([], replacing={"document": "guide"}) == []
    assert store.count() == len(PAGES)


def test_ingesting_a_shorter_version_leaves_no_part_of_the_longer_one(store: IndexedStore) -> None:
    long = "\n\n".join(f"Paragraph {number} of the guide tells of topic {number}." for number in range(20))

    first = ingest_documents(store, [Document(id="guide", text=long), *documents()], size=120, overlap=20)
    second = ingest_documents(store, [Document(id="guide", text="Only this is left.")], size=120, overlap=20)

    assert first > 10
    assert second == 1
    assert store.count() == 1 + len(PAGES)
    assert store.search("topic", k=20, where={"document": "guide"})[0].text == "Only this is left."


def test_the_last_of_several_versions_that_are_ingested_together_stays(store: IndexedStore) -> None:
    long = "\n\n".join(f"Paragraph {number} of the guide." for number in range(20))

    ingested = ingest_documents(
        store, [Document(id="guide", text=long), Document(id="guide", text="Only this is left.")], size=120, overlap=20
    )

    assert (ingested, store.count({"document": "guide"})) == (1, 1)


def test_documents_are_deleted_by_id_by_filter_and_by_both(store: IndexedStore) -> None:
    store.add(documents())

    assert store.delete(["sync.md", "no such id"]) == 1
    assert store.delete(["refunds.md", "password.md"], where={"even": True}) == 1
    assert store.delete([]) == 0
    assert set(sources(store.search("x", k=10))) == {"password.md", "invoices.md"}


@pytest.mark.parametrize(
    "text",
    [
        "Grüße aus Köln, c'est l'été — naïve façade",
        "返金には五営業日かかります。",
        "يستغرق رد المبلغ خمسة أيام",
        "👩‍👩‍👧‍👦 family emoji with joiners \U0001f9d1\u200d\U0001f680",
        "'; DROP TABLE documents; -- \\ \" % _ {}",
        "\ttabs\r\nand lines\u2028apart",
        "e\u0301 decomposed",
    ],
)
def test_any_text_comes_back_as_it_was_added(store: IndexedStore, text: str) -> None:
    store.add([Document(id=text, text=text, metadata={text: text, "source": text}), *documents()])

    found = store.search(text, k=1, where={text: text})

    assert (found[0].id, found[0].text, found[0].metadata[text]) == (text, text, text)
    assert store.search(text, k=1)[0].text == text
    assert store.delete([text]) == 1


def test_numbers_in_metadata_keep_value_and_kind(store: IndexedStore) -> None:
    metadata: dict[str, str | int | float | bool] = {
        "int": 7,
        "big": 2**53,
        "float": 0.1,
        "negative": -1.5,
        "yes": True,
        "no": False,
        "empty": "",
    }
    store.add([Document(text="numbers", metadata=metadata)])

    kept = store.search("numbers")[0].metadata

    assert kept == metadata
    assert {key: type(value) for key, value in kept.items()} == {key: type(value) for key, value in metadata.items()}


def test_what_was_added_is_there_for_whoever_opens_the_store_later(open_store: Callable[..., IndexedStore]) -> None:
    first = open_store()
    first.add(documents())
    first.close()

    assert sources(open_store().search("forgotten password", k=1)) == ["password.md"]
    assert first.count() == len(PAGES), "a closed store opens again"


def test_collections_are_apart(open_store: Callable[..., IndexedStore]) -> None:
    one, other = open_store(), open_store(HashingEmbedder(dimension=64), "other_ones")
    one.add(documents())
    other.add([Document(text="refund")])

    assert (one.count(), other.count()) == (4, 1)
    other.clear()
    assert (one.count(), other.count()) == (4, 0)


def test_vectors_of_another_length_or_embedder_are_refused(open_store: Callable[..., IndexedStore]) -> None:
    open_store(HashingEmbedder(dimension=128)).add(documents())
    shorter = open_store(HashingEmbedder(dimension=64))
    namesake = open_store(FixedEmbedder(name="hashing-128", vectors={"x": [1.0, 2.0]}))

    for call in (lambda: shorter.search("x"), lambda: shorter.add(documents())):
        with pytest.raises(ConfigurationError, match=r"hashing-128 with 128 numbers.*hashing-64 with 64.*clear\(\)"):
            call()
    with pytest.raises(ConfigurationError, match="hashing-128 with 2:"):
        namesake.search("x")
    assert shorter.count() == len(PAGES), "a refused document changes nothing"


def test_a_cleared_store_takes_another_embedder(open_store: Callable[..., IndexedStore]) -> None:
    open_store(HashingEmbedder(dimension=128)).add(documents())
    other = open_store(HashingEmbedder(dimension=64))

    other.clear()
    other.add(documents())

    assert sources(other.search("invoice", k=1)) == ["invoices.md"]


@pytest.mark.parametrize("dimension", [1, 3, 1536, 3072, 4096])
def test_short_and_long_vectors_are_kept_and_found(open_store: Callable[..., IndexedStore], dimension: int) -> None:
    store = open_store(HashingEmbedder(dimension=dimension))
    store.add(documents())

    found = store.search(PAGES["sync.md"], k=4)

    assert len(found) == 4
    assert found[0].score == pytest.approx(1, abs=1e-3)
    assert dimension < 64 or found[0].source == "sync.md"


def test_more_documents_than_the_default_search_width_are_found(store: IndexedStore) -> None:
    store.add(Document(text=f"note number {number} about things") for number in range(250))

    assert len(store.search("note", k=200)) == 200
    assert len(store.search("note", k=1000)) == 250


def test_a_batch_with_a_useless_vector_leaves_nothing_behind(open_store: Callable[..., IndexedStore]) -> None:
    store = open_store(FixedEmbedder(vectors={"good": [1.0], "bad": [0.0]}))

    with pytest.raises(ConfigurationError, match="no direction"):
        store.add([Document(text="good"), Document(text="bad")])

    assert store.count() == 0


def test_what_makes_no_sense_is_refused(store: IndexedStore) -> None:
    with pytest.raises(InvalidRequestError, match="k=0"):
        store.search("x", k=0)
    for k in (2.5, "2", None):
        with pytest.raises(InvalidRequestError, match=f"k={k!r}; expected .* an int"):
            store.search("x", k=k)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match="the query None; expected a text"):
        store.search(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match=r"clear\(\)"):
        store.delete()
    with pytest.raises(InvalidRequestError, match="list of ids"):
        store.delete("sync.md")
    with pytest.raises(InvalidRequestError, match="clear"):
        store.add(documents(), replacing={})
    assert store.search("  \n ") == []


@pytest.mark.parametrize("value", [None, [None], "\0", "\ud800", math.nan, [1, math.inf], 2**63, -(2**63) - 1])
def test_a_filter_that_not_every_database_can_answer_is_refused(store: IndexedStore, value: Any) -> None:
    store.add(documents())

    with pytest.raises(InvalidRequestError, match="the filter for 'a' holds"):
        store.search("x", where={"a": value})
    with pytest.raises(InvalidRequestError, match="the filter for 'a' holds"):
        store.delete(where={"a": value})


def test_numbers_and_ids_that_no_database_takes_are_refused(store: IndexedStore) -> None:
    store.add(documents())

    with pytest.raises(InvalidRequestError, match=f"k={2**63}"):
        store.search("x", k=2**63)
    for id in ("\0", "\ud800"):
        with pytest.raises(InvalidRequestError, match="an id holds"):
            store.delete([id])
        with pytest.raises(InvalidRequestError, match="a key of the filter holds"):
            store.count({id: 1})
    assert store.count({"number": [2**63 - 1, -(2**63), 1e300]}) == 0


def test_the_async_twins_do_the_same(store: IndexedStore) -> None:
    async def both() -> list[Any]:
        await store.add_async(documents())
        return await store.search_async("refund", k=2, where={"even": True}, min_score=-1)

    assert asyncio.run(both()) == store.search("refund", k=2, where={"even": True}, min_score=-1)


def test_two_writers_and_a_reader_at_once_lose_nothing(open_store: Callable[..., IndexedStore]) -> None:
    stores = [open_store(), open_store()]
    start = threading.Barrier(3)

    def write(number: int) -> None:
        start.wait()
        for turn in range(10):
            shared = [Document(id=f"shared {n}", text=f"shared {n} by {number}") for n in range(5)]
            own = [Document(id=f"{number} {turn} {n}", text=f"of writer {number}, {turn}-{n}") for n in range(5)]
            stores[number].add([*own, *shared], replacing={"never": "there"})

    def read() -> list[int]:
        start.wait()
        return [len(stores[0].search("writer", k=500)) for _ in range(10)]

    with ThreadPoolExecutor(3) as pool:
        reader = pool.submit(read)
        for done in [pool.submit(write, 0), pool.submit(write, 1)]:
            done.result()
        seen = reader.result()

    assert stores[1].count() == 2 * 10 * 5 + 5
    assert seen == sorted(seen)
    assert all(count % 5 == 0 for count in seen), "a reader sees whole batches"


def test_writers_that_touch_the_same_documents_wait_for_each_other(open_store: Callable[..., IndexedStore]) -> None:
    stores = [open_store(), open_store()]
    start = threading.Barrier(2)
    first, last = Document(id="a", text="the first"), Document(id="z", text="the last", metadata={"group": "z"})

    def replace() -> None:  # takes the last away, and then writes the first
        start.wait()
        for _ in range(40):
            stores[0].add([first], replacing={"group": "z"})

    def write() -> None:  # reads, and then writes the first and the last
        start.wait()
        for _ in range(40):
            stores[1].add([first, last])

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(replace), pool.submit(write)]:
            done.result()

    assert stores[0].count() in (1, 2)


@pytest.mark.postgres
@pytest.mark.parametrize(
    "most_tuples",
    [20_000, 1],  # as many as the index looks at by default, or so few that it gives up
)
def test_the_index_of_postgres_leaves_out_nothing_that_matches(pgvector_url: str, most_tuples: int) -> None:
    options = f"-c enable_seqscan=off -c enable_bitmapscan=off -c hnsw.max_scan_tuples={most_tuples}"
    url = f"{pgvector_url}{'&' if '?' in pgvector_url else '?'}options={quote(options)}"
    config = PgVectorConfig(url=url, embedder=HashingEmbedder(dimension=32), collection="indexed")
    store = IndexedStore(embedder=config.embedder, index=Opened().index(config))
    try:
        many = [Document(text=f"refund number {n}", metadata={"source": "bulk"}) for n in range(300)]
        rare = [Document(text=f"Something else, {n}.", metadata={"source": "rare"}) for n in range(3)]
        store.add([*many, *rare])

        assert sources(store.search("refund", k=5, where={"source": "rare"})) == ["rare"] * 3
        assert len(store.search("refund", k=100)) == 100
    finally:
        store.clear()
        store.close()


WRITER = """
import sys
from turnwise import Document, HashingEmbedder, PgVectorConfig, SqliteVectorConfig
url, path, number = sys.argv[1:]
embedder = HashingEmbedder(dimension=64)
config = PgVectorConfig(url=url, embedder=embedder) if url else SqliteVectorConfig(path=path, embedder=embedder)
store = config.open()
sys.stdin.readline()
for turn in range(10):
    store.add([Document(id=f"{number} {turn} {n}", text=f"process {number} {turn} {n}") for n in range(10)])
"""


def test_processes_that_begin_together_make_one_store(
    configure: Configure, open_store: Callable[..., IndexedStore], tmp_path: Path
) -> None:
    config = configure(HashingEmbedder(dimension=64))
    url = config.url if isinstance(config, PgVectorConfig) else ""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, str(tmp_path / "vectors.db"), str(number)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for writer in writers:  # all wait for a line, so that they begin together
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()

    told = [writer.communicate()[1] for writer in writers]

    assert [writer.returncode for writer in writers] == [0, 0, 0], told
    store = open_store(HashingEmbedder(dimension=64))
    assert store.count() == 300
    assert store.search("process 1", k=1)[0].text.startswith("process 1")
