"""Settings of vector stores; importing them loads no database library."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Hashable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from turnwise.errors import ConfigurationError
from turnwise.integrations.retrieval.embedder import Embedder

if TYPE_CHECKING:
    from turnwise.integrations.retrieval.index import VectorIndex
    from turnwise.integrations.retrieval.indexed_store import IndexedStore


class VectorStoreConfig(BaseModel):
    """Settings that every vector store understands.

    `embedder` makes the vectors. `collection` separates documents that are not to be found together: each has its own
    embedder and is created when the first document is added.
    """

    model_config = ConfigDict(
        arbitrary_types_allowed=True, extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=True
    )

    embedder: Embedder
    collection: str = Field(default="documents", pattern=r"^[a-z][a-z0-9_]{0,31}$")

    @field_validator("embedder")
    @classmethod
    def _named(cls, embedder: Embedder) -> Embedder:
        if not isinstance(getattr(embedder, "name", None), str):
            raise ValueError(f"{type(embedder).__name__} has no name; set its `name` to a text that tells its vectors")
        return embedder

    def open(self) -> IndexedStore:
        """The store; within a process, stores of the same place and collection share their connections.

        Nothing is connected yet: that happens at the first call, which may raise `VectorStoreUnavailableError`.
        """
        from turnwise.integrations.retrieval.indexed_store import IndexedStore
        from turnwise.integrations.retrieval.opening import opened

        return IndexedStore(embedder=self.embedder, index=opened.index(self))

    @abstractmethod
    def place(self) -> Hashable:
        """Return what tells this store's database from others, for whoever shares connections."""

    @abstractmethod
    def make_index(self) -> VectorIndex:
        """The database's side of the store, not yet connected."""


class SqliteVectorConfig(VectorStoreConfig):
    """Vectors in a file of their own, by SQLite and its extension sqlite-vec; needs `turnwise[retrieval]`.

    `path` is the file, created when it is needed; its directory has to exist. Threads and processes of one machine may
    share it. Every search compares the query with all documents that match its filter: exact, and fast enough for some
    ten thousand. Raises `ConfigurationError` if the extra is not installed, or for `":memory:"`.
    """

    path: Path

    def model_post_init(self, _context: Any) -> None:
        _require("retrieval", "apsw", "sqlite_vec")
        # Path("") is ".".
        if str(self.path) in (":memory:", "."):
            raise ConfigurationError(
                f"SqliteVectorConfig(path={str(self.path)!r}): expected a file, because each connection would have an "
                "empty database of its own; for a store that does not last, give a file in a temporary directory"
            )

    def place(self) -> Hashable:
        return ("sqlite", Path(os.path.abspath(self.path)), self.collection)  # noqa: PTH100 - links stay as they are

    def make_index(self) -> VectorIndex:
        from turnwise.integrations.retrieval.sqlite_index import SqliteIndex

        return SqliteIndex(self.path, self.collection)


class PgVectorConfig(VectorStoreConfig):
    """Vectors in PostgreSQL, by its extension pgvector (0.8 or later); needs `turnwise[pgvector]`.

    `url` is `postgresql://USER:PASSWORD@HOST/NAME`, the database of the runs or another one. Tables are created when
    they are needed, and so is the extension, for which PostgreSQL may ask an administrator. Searches use an HNSW index
    (vectors of up to 4000 numbers; longer ones are compared one by one). `pool_size` bounds the connections of a
    process that are kept open. Raises `ConfigurationError` if the extra is not installed.
    """

    url: str = Field(repr=False)
    pool_size: int = Field(default=5, ge=1)

    def model_post_init(self, _context: Any) -> None:
        _require("pgvector", "pgvector", "sqlalchemy", "psycopg")

    def place(self) -> Hashable:
        return ("pgvector", self.url, self.collection, self.pool_size)

    def make_index(self) -> VectorIndex:
        from turnwise.integrations.retrieval.pg_index import PgIndex

        return PgIndex(self.url, self.collection, pool_size=self.pool_size)


def _require(extra: str, *modules: str) -> None:
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise ConfigurationError(
            f"this vector store needs {' and '.join(missing)}; install with: pip install 'turnwise[{extra}]'"
        )
