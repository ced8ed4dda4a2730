"""Vectors without a model: words and their parts, hashed.

Feature hashing (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning") over words and their
character trigrams, with a marked beginning and end of word as in Bojanowski et al. 2017, "Enriching Word Vectors with
Subword Information".
"""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from turnwise.errors import ConfigurationError
from turnwise.integrations.retrieval.embedder import Embedder, Embeddings

_WORD = re.compile(r"\w+")
_SHORT = 3  # words up to this length are mostly articles and the like
_SHORT_WEIGHT = 0.25
_TRIGRAM_WEIGHT = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class HashingEmbedder(Embedder):
    """An embedder without a model, offline, free and always the same: for tests and for trying things out.

    Texts are near to each other if they share words or parts of words; it knows no synonyms. `dimension` is the
    length of a vector.
    """

    dimension: int = 512

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise ConfigurationError(f"HashingEmbedder(dimension={self.dimension}): expected at least 1, better 256")

    @property
    def name(self) -> str:
        """The number of dimensions, which is all that its vectors depend on."""
        return f"hashing-{self.dimension}"

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one vector of length 1 for each text; counts as no call of a model."""
        return Embeddings(vectors=[hashed_vector(text, self.dimension) for text in texts])


def hashed_vector(text: str, dimension: int) -> array[float]:
    """A vector of length 1 in single precision, the same on every machine; any text has one."""
    vector = [0.0] * dimension
    for feature, weight in _features(text).items():
        digest = int.from_bytes(hashlib.blake2b(feature.encode(errors="replace"), digest_size=8).digest())
        # A random sign lets two features that meet in one place cancel out on average.
        vector[(digest >> 1) % dimension] += weight if digest & 1 else -weight
    norm = math.sqrt(math.fsum(value * value for value in vector))
    if norm == 0.0:  # no features, or all of them cancelled out
        vector[0] = norm = 1.0
    return array("f", (value / norm for value in vector))


def _features(text: str) -> dict[str, float]:
    """Words and their trigrams, each weighted by the root of how often it comes."""
    words = Counter(_WORD.findall(text.casefold())) or Counter(text.split())
    features: Counter[str] = Counter()
    for word, times in words.items():
        weight = math.sqrt(times) * (_SHORT_WEIGHT if len(word) <= _SHORT else 1.0)
        features[word] += weight  # type: ignore[assignment]
        marked = f"<{word}>"
        for at in range(len(marked) - 2):
            features[f"#{marked[at : at + 3]}"] += weight * _TRIGRAM_WEIGHT  # type: ignore[assignment]
    return features  # type: ignore[return-value]
