"""The splitting of long texts into parts that can be found one by one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from turnwise.errors import InvalidRequestError
from turnwise.integrations.retrieval.document import Document
from turnwise.integrations.retrieval.store import VectorStore, documents_of

# Lines that are not blank, one behind the other. Possessive, so that a long run of blanks is read once.
_PARAGRAPH = re.compile(r"\S[^\n]*+(?:\n[^\S\n]*+\S[^\n]*+)*+")
# Where a paragraph that is too long is cut, best first: after a sentence, at a line's end, between words.
_CUTS = (
    re.compile(r"[.!?][\"')\]]*\s|[。！？][\"')\]”’」』）】]*"),
    re.compile(r"\n"),
    re.compile(r"\s"),
)
# Chinese and Japanese characters: no white space stands between their words, so each counts as one.
_WORD_ITSELF = re.compile(r"[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_GROUP = 256  # parts that are embedded and written together
_LONGEST_STEM = 480  # characters of an id that leave room for the number of a part


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

    A part has the document's metadata, and `document` (its id) and `part` (0, 1, ...); its id is `<id>#<part>`, with a
    hash in place of an id of more than 480 characters.
    """
    stem = document.id
    if len(stem) > _LONGEST_STEM:
        stem = hashlib.sha256(stem.encode()).hexdigest()
    return [
        Document(
            id=f"{stem}#{number}",
            text=text,
            metadata={**document.metadata, "document": document.id, "part": number},
        )
        for number, text in enumerate(split_text(document.text, size, overlap))
    ]


def ingest_documents(store: VectorStore, documents: Iterable[Document], size: int = 1200, overlap: int = 150) -> int:
    """Split the documents and add the parts; returns how many parts there are.

    The parts of an earlier version of a document, known by its id, are replaced in one transaction, and the last of
    several versions stays. Give a document that may change an `id` of its own, such as its path. May be called again
    after a failure.
    """
    total = 0
    for group in _groups(documents_of("ingest_documents", documents), size, overlap):
        parts = [part for parts in group.values() for part in parts]
        store.add(parts, replacing={"document": list(group)})
        total += len(parts)
    return total


def _groups(documents: Iterable[Document], size: int, overlap: int) -> Iterator[dict[str, list[Document]]]:
    """The parts of whole documents by the documents' ids, a few hundred parts at a time."""
    group: dict[str, list[Document]] = {}
    for document in documents:
        group[document.id] = split_document(document, size, overlap)
        if sum(map(len, group.values())) >= _GROUP:
            yield group
            group = {}
    if group:
        yield group


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
        start = paragraph.start()
        end = start + len(paragraph.group().rstrip())
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
        if ends and ends[-1] > limit and not text[limit].isspace():  # a mark that has no place in this part
            ends.pop()
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
        while at < latest and not text[at].isspace() and not _WORD_ITSELF.match(text, at):
            at += 1
    return _next_word(text, min(at, latest), latest)
