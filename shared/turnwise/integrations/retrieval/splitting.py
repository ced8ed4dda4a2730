"""The splitting of long texts into parts that can be found one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from turnwise.errors import InvalidRequestError
from turnwise.integrations.retrieval.document import Document
from turnwise.integrations.retrieval.store import VectorStore

_PARAGRAPH = re.compile(r"\S.*?(?=\s*\n\s*\n|\s*\Z)", re.DOTALL)
# Where a paragraph that is too long is cut, best first: after a sentence, at a line's end, between words.
_CUTS = (re.compile(r"[.!?。！？][\"')\]]*\s"), re.compile(r"\n"), re.compile(r"\s"))
_GROUP = 256  # parts that are embedded and written together


def split_text(text: str, size: int = 1200, overlap: int = 150) -> list[str]:
    """Parts of up to `size` characters, each of whole paragraphs where they fit; blank ones are left out.

    A part begins with up to `overlap` characters of the one before, so that what stands at a border is found from
    both sides. Raises `InvalidRequestError` unless 0 <= overlap <= size / 2.
    """
    if size < 1 or not 0 <= overlap <= size // 2:
        raise InvalidRequestError(
            f"split_text(size={size}, overlap={overlap}): expected a size of at least 1 and an overlap of 0 to size / 2"
        )
    return [text[start:end] for start, end in _parts(text, size, overlap)]


def split_document(document: Document, size: int = 1200, overlap: int = 150) -> list[Document]:
    """The document as parts; see `split_text`.

    A part has the document's metadata, and `document` (its id) and `part` (0, 1, ...); its id is `<id>#<part>`.
    """
    return [
        Document(
            id=f"{document.id}#{number}",
            text=text,
            metadata={**document.metadata, "document": document.id, "part": number},
        )
        for number, text in enumerate(split_text(document.text, size, overlap))
    ]


def ingest_documents(store: VectorStore, documents: Iterable[Document], size: int = 1200, overlap: int = 150) -> int:
    """Split the documents and add the parts; returns how many parts there are.

    The parts of an earlier version of a document, known by its id, are replaced in one transaction. Give a document
    that may change an `id` of its own, such as its path. May be called again after a failure.
    """
    total = 0
    for names, parts in _groups(documents, size, overlap):
        store.add(parts, replacing={"document": names})
        total += len(parts)
    return total


def _groups(documents: Iterable[Document], size: int, overlap: int) -> Iterator[tuple[list[str], list[Document]]]:
    """Ids of whole documents with their parts, a few hundred parts at a time."""
    names: list[str] = []
    parts: list[Document] = []
    for document in documents:
        names.append(document.id)
        parts += split_document(document, size, overlap)
        if len(parts) >= _GROUP:
            yield names, parts
            names, parts = [], []
    if names:
        yield names, parts


def _parts(text: str, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    start = end = -1
    for first, last in _pieces(text, size - overlap):
        if start >= 0 and last - start <= size:
            end = last
            continue
        if start >= 0:
            yield start, end
            start = _word_start(text, max(start + 1, end - overlap, last - size), first) if overlap else first
        else:
            start = first
        end = last
    if start >= 0:
        yield start, end


def _pieces(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Return where paragraphs begin and end, those longer than `limit` in several pieces."""
    for paragraph in _PARAGRAPH.finditer(text):
        start, end = paragraph.span()
        while end - start > limit:
            cut = _cut(text, start, start + limit)
            yield start, start + len(text[start:cut].rstrip())
            start = _next_word(text, cut, end)
        if start < end:
            yield start, end


def _cut(text: str, start: int, limit: int) -> int:
    """Return where to cut between `start` and `limit`: not in the first half, if anything better is found."""
    for kind in _CUTS:
        # One more character is looked at: a space right behind the limit ends a word as well.
        ends = [match.end() for match in kind.finditer(text, start + 1, limit + 1)]
        if ends and ends[-1] - start > (limit - start) // 2:
            return min(ends[-1], limit)
    return limit


def _next_word(text: str, at: int, end: int) -> int:
    while at < end and text[at].isspace():
        at += 1
    return at


def _word_start(text: str, at: int, latest: int) -> int:
    """The first beginning of a word from `at` on, `latest` at the latest."""
    if at < latest and not text[at - 1].isspace():
        while at < latest and not text[at].isspace():
            at += 1
    return _next_word(text, min(at, latest), latest)
