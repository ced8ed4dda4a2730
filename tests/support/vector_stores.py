"""A vector store over each database, and embedders to try it with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from turnwise import Document, Embedder, Embeddings, HashingEmbedder, LLMTokenUsage, SqliteVectorConfig

PAGES = {
    "refunds.md": "A refund takes five working days to reach your card.",
    "password.md": "To reset a forgotten password, open the account page.",
    "sync.md": "When two devices change a note, sync keeps both copies.",
    "invoices.md": "Every invoice can be downloaded as a PDF file.",
}


def documents() -> list[Document]:
    """The pages, each with where it comes from, its number, and whether that is even."""
    return [
        Document(id=source, text=text, metadata={"source": source, "number": number, "even": number % 2 == 0})
        for number, (source, text) in enumerate(PAGES.items())
    ]


def sqlite_config(
    directory: Path, embedder: Embedder | None = None, collection: str = "documents"
) -> SqliteVectorConfig:
    """A store in a file of that directory."""
    return SqliteVectorConfig(
        path=directory / "vectors.db", embedder=embedder or HashingEmbedder(), collection=collection
    )


@dataclass(frozen=True, kw_only=True)
class FixedEmbedder(Embedder):
    """Gives texts the vectors that a test chose; each call counts as one token and a cent."""

    vectors: Mapping[str, Sequence[float]]
    name: str = "fixed"

    def embed(self, texts: Sequence[str]) -> Embeddings:
        usage = LLMTokenUsage(prompt_tokens=len(texts), calls=1)
        return Embeddings(vectors=[self.vectors[text] for text in texts], usage=usage)
