"""Documents, the embedder without a model, and settings of stores."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.support.vector_stores import documents, sqlite_config

from turnwise import (
    AgentConfig,
    DocMetaData,
    Document,
    Embedder,
    Embeddings,
    HashingEmbedder,
    PgVectorConfig,
    SqliteVectorConfig,
    VectorStore,
)
from turnwise.errors import ConfigurationError, VectorStoreUnavailableError
from turnwise.integrations.retrieval.index import VectorIndex
from turnwise.integrations.retrieval.opening import Opened


def similarity(one: str, other: str) -> float:
    first, second = HashingEmbedder().embed([one, other]).vectors
    return math.fsum(a * b for a, b in zip(first, second, strict=True))


def test_the_same_content_has_the_same_id_on_every_machine() -> None:
    document = Document(text="Cats purr.", metadata={"b": 1, "a": "x"})

    assert document.id == Document(text="Cats purr.", metadata={"a": "x", "b": 1}).id
    assert document.id == "e5f46293a933886439c34dfb43f2f5fe"
    assert document.id != Document(text="Cats purr.").id
    assert document.id != Document(text="Cats purr!", metadata={"b": 1, "a": "x"}).id


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"text": " \n"}, "blank"),
        ({"text": "a\0b"}, "NUL"),
        ({"text": "a", "id": "x\0"}, "NUL"),
        ({"text": "a", "metadata": {"k": "\0"}}, "NUL"),
        ({"text": "a", "metadata": {"k\0": "v"}}, "NUL"),
        ({"text": "a\ud800"}, "surrogate"),
        ({"text": "a", "metadata": {"k": "\ud800"}}, "surrogate"),
        ({"text": "a", "metadata": {"k": [1]}}, "metadata"),
        ({"text": "a", "metadata": {"k": None}}, "metadata"),
        ({"text": "a", "metadata": {"k": math.nan}}, "finite"),
        ({"text": "a", "id": ""}, "id"),
        ({"text": "a", "id": "x" * 501}, "id"),
        ({"text": "a", "source": "s"}, "source"),
    ],
)
def test_what_a_store_could_not_keep_is_no_document(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Document(**fields)


def test_hashed_vectors_have_length_one_and_are_the_same_everywhere() -> None:
    vector = HashingEmbedder(dimension=8).embed(["A refund takes five days."]).vectors[0]

    assert math.sqrt(math.fsum(number**2 for number in vector)) == pytest.approx(1, abs=1e-6)
    assert [round(number, 4) for number in vector] == [0.1233, 0.3698, -0.4931, 0.2465, 0.6163, -0.0616, 0.0, 0.4006]


@pytest.mark.parametrize("text", ["", "  ", "!?", "…", "\ud800", "\0", "🙂"])
def test_any_text_has_a_hashed_vector(text: str) -> None:
    vector = HashingEmbedder(dimension=4).embed([text]).vectors[0]

    assert math.fsum(number**2 for number in vector) == pytest.approx(1, abs=1e-6)


def test_texts_that_share_words_or_parts_of_them_are_near() -> None:
    question = "How long does a refund take?"

    assert similarity(question, "A refund takes five days.") > 0.3
    assert similarity(question, "Reset your password in the settings.") < 0.1
    assert similarity("refunding", "REFUNDED") > 0.3
    assert similarity("dog bites man", "man bites dog") == pytest.approx(1, abs=1e-6)


def test_a_vector_needs_a_length() -> None:
    with pytest.raises(ConfigurationError, match="dimension=0"):
        HashingEmbedder(dimension=0)


def test_importing_the_settings_loads_no_database() -> None:
    code = (
        "import sys; from turnwise import *; "
        "AgentConfig(vecdb=SqliteVectorConfig(path='x.db', embedder=HashingEmbedder())); "
        "AgentConfig(vecdb=PgVectorConfig(url='postgresql://h/n', embedder=OpenAIEmbedder())); "
        "print([name for name in ('apsw', 'sqlite_vec', 'pgvector', 'sqlalchemy', 'psycopg', 'openai')"
        " if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("module", "made", "told"),
    [
        ("sqlite_vec", "SqliteVectorConfig(path='x', embedder=HashingEmbedder())", "'turnwise[retrieval]'"),
        ("pgvector", "PgVectorConfig(url='postgresql://h/n', embedder=HashingEmbedder())", "'turnwise[pgvector]'"),
    ],
)
def test_a_store_whose_extra_is_missing_names_it(module: str, made: str, told: str) -> None:
    code = f"""
import sys
class Missing:
    def find_spec(name, path, target=None):
        if name == {module!r}:
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Missing)
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == {module!r} else found(name, package)
from turnwise import *
from turnwise.errors import ConfigurationError
try:
    {made}
except ConfigurationError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said == f"this vector store needs {module}; install with: pip install {told}\n"


@pytest.mark.parametrize("collection", ["", "Big", "1st", "a-b", "a" * 33, 'x"; DROP'])
def test_a_collection_has_a_plain_name(tmp_path: Path, collection: str) -> None:
    with pytest.raises(ValidationError, match="collection"):
        sqlite_config(tmp_path, collection=collection)


def test_an_agent_takes_settings_or_a_store_and_nothing_else(tmp_path: Path) -> None:
    config = sqlite_config(tmp_path)

    assert AgentConfig(vecdb=config).vecdb is config
    store = config.open()
    assert isinstance(store, VectorStore)
    assert AgentConfig(vecdb=store).vecdb is store
    with pytest.raises(ValidationError, match="vecdb"):
        AgentConfig.model_validate({"vecdb": "vectors.db"})
    with pytest.raises(ValidationError, match="Embedder"):
        SqliteVectorConfig.model_validate({"path": "vectors.db", "embedder": "text-embedding-3-small"})


class Named(Embedder):
    name: str

    def __init__(self, name: str | None) -> None:
        if name is not None:
            self.name = name

    def embed(self, texts: Sequence[str]) -> Embeddings:
        return Embeddings(vectors=[[1.0] for _ in texts])


def test_an_embedder_may_set_its_name_when_it_is_made(tmp_path: Path) -> None:
    assert sqlite_config(tmp_path, Named("mine")).embedder.name == "mine"


def test_an_embedder_without_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="Named has no name"):
        sqlite_config(tmp_path, Named(None))


def test_stores_of_the_same_place_share_their_connections(tmp_path: Path) -> None:
    opened = Opened()

    def index(embedder: Embedder | None = None, collection: str = "documents") -> VectorIndex:
        return opened.index(sqlite_config(tmp_path, embedder, collection))

    assert index() is index(HashingEmbedder(dimension=7))
    assert index() is not index(collection="other")
    first = index()
    opened.close()
    assert index() is not first


def test_a_forked_process_has_connections_of_its_own(tmp_path: Path) -> None:
    code = """
import os, sys
from turnwise import *
config = SqliteVectorConfig(path=sys.argv[1], embedder=HashingEmbedder())
config.open().add([Document(id="parent", text="of the parent")])
child = os.fork()
if child == 0:
    config.open().add([Document(id="child", text="of the child")])
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(config.open().count())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path / "v.db")], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_a_file_that_can_not_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(VectorStoreUnavailableError, match=r"no/such/vectors\.db.*directory exists"):
        sqlite_config(tmp_path / "no/such").open().count()
    (tmp_path / "vectors.db").write_text("This is no database, although it is long enough to be one." * 100)
    with pytest.raises(VectorStoreUnavailableError, match=r"vectors\.db.*NotADB"):
        sqlite_config(tmp_path).open().count()


def test_a_database_for_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE runs (id TEXT)")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(ConfigurationError, match="a file of their own"):
        sqlite_config(tmp_path).open().add(documents())

    assert path.read_bytes() == before


def test_tables_of_another_version_are_refused(tmp_path: Path) -> None:
    store = sqlite_config(tmp_path).open()
    store.add(documents())
    store.close()
    with sqlite3.connect(tmp_path / "vectors.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(ConfigurationError, match=r"version 99.*needs version 1"):
        store.count()


@pytest.mark.parametrize("url", ["", "vectors.db", "mysql://u:secret@h/n"])
def test_a_url_of_no_postgres_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigurationError, match="expected postgresql://") as error:
        PgVectorConfig(url=url, embedder=HashingEmbedder()).open()
    assert "secret" not in str(error.value)


def test_a_postgres_that_is_not_there_is_named_without_its_password() -> None:
    config = PgVectorConfig(url="postgresql://u:secret@127.0.0.1:9/n", embedder=HashingEmbedder())

    with pytest.raises(
        VectorStoreUnavailableError, match=r"postgresql://u:\*\*\*@127\.0\.0\.1:9/n.*start PostgreSQL"
    ) as error:
        config.open().count()

    assert "secret" not in str(error.value) + repr(config)


def test_a_text_may_be_given_and_asked_for_as_content() -> None:
    named = Document.model_validate({"content": "a b", "metadata": {"source": "x"}})
    assert named == Document(text="a b", metadata={"source": "x"})
    assert named.content == "a b"
    with pytest.raises(ValidationError):
        Document.model_validate({"content": "a", "text": "b"})


def test_a_document_is_made_of_a_text_alone() -> None:
    document = Document.from_string("a b", is_chunk=False)

    assert document == Document(text="a b", metadata={"source": "context", "is_chunk": False})
    assert Document.from_string("a b", source="radio").source == "radio"


class Song(DocMetaData):
    year: int
    singer: str | None = None


def test_metadata_may_be_given_by_fields_and_read_as_attributes() -> None:
    document = Document(text="la la", metadata=Song(source="radio", year=1999, id="song-7"))

    assert document.metadata == {"source": "radio", "year": 1999}
    assert (document.id, document.metadata.year, document.source) == ("song-7", 1999, "radio")
    with pytest.raises(AttributeError, match=r"singer.*source, year"):
        document.metadata.singer  # noqa: B018
    assert Document.model_validate_json(document.model_dump_json()) == document
