"""The tokenizer of a model, where one is at hand: tiktoken (extra `tokens`) with its vocabulary on this machine.

Nothing is ever fetched. tiktoken ships no vocabulary and downloads it at its first use, without a time limit; so it is
asked only if the file is in its cache (TIKTOKEN_CACHE_DIR) and is the right one.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_URL = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
# SHA-256 of the vocabularies, as tiktoken_ext/openai_public.py has them: another file it would fetch anew.
_SHA256 = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
_MOST_REMEMBERED = 65_536


@cache
def tokenizer_for(model: str) -> Callable[[str], int] | None:
    """Counts the tokens of a text as the model does; None if that cannot be done here. The first call loads it."""
    if find_spec("tiktoken") is None:
        return None
    from tiktoken.model import encoding_name_for_model

    try:
        name = encoding_name_for_model(model)
    except KeyError:
        return None
    return _counter(name) if _is_cached(name) else None


def _is_cached(name: str) -> bool:
    """Return whether tiktoken finds the vocabulary where it looks for it (its function `read_file_cached`)."""
    named = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    directory = Path(named) if named else Path(tempfile.gettempdir()) / "data-gym-cache"
    key = hashlib.sha1(_URL.format(name=name).encode(), usedforsecurity=False).hexdigest()
    try:
        content = (directory / key).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content).hexdigest() == _SHA256.get(name)


@cache
def _counter(name: str) -> Callable[[str], int]:
    import tiktoken

    encoding = tiktoken.get_encoding(name)
    # By hash and length, so that no text is kept alive; the same text comes again with each turn.
    known: dict[tuple[int, int], int] = {}

    def count(text: str) -> int:
        key = hash(text), len(text)
        if (found := known.get(key)) is not None:
            return found
        if len(known) >= _MOST_REMEMBERED:
            known.clear()
        known[key] = number = len(encoding.encode_ordinary(text))
        return number

    return count
