"""Answers to `POST /v1/embeddings`: the vectors of the hashing embedder, which knows words but no meaning."""

from __future__ import annotations

import base64
import sys
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from turnwise.integrations.retrieval.hashing import hashed_vector

EMBEDDING_MODEL = "turnwise-fake-embedding"
_DIMENSIONS = 512
_CHARS_PER_TOKEN = 4

_Text = Annotated[StrictStr, Field(min_length=1)]
_Tokens = Annotated[list[StrictInt], Field(min_length=1)]


class EmbeddingRequest(BaseModel):
    """The body of `POST /v1/embeddings`, as far as the fake reads it; unknown fields are kept.

    Like the real one, it takes a text, up to 2048 texts, or the same as numbers of tokens; it refuses an empty text.
    """

    model_config = ConfigDict(extra="allow")

    model: str
    input: _Text | _Tokens | Annotated[list[_Text] | list[_Tokens], Field(min_length=1, max_length=2048)]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int = Field(_DIMENSIONS, ge=1, le=4096)

    @property
    def texts(self) -> list[str]:
        """Return what to embed; tokens count as words."""
        given = self.input
        items: list[Any] = [given] if isinstance(given, str) or isinstance(given[0], int) else list(given)
        return [item if isinstance(item, str) else " ".join(map(str, item)) for item in items]


def embeddings(request: EmbeddingRequest) -> dict[str, Any]:
    """The body of an answer; the same text has the same vector, similar texts have similar ones."""
    texts = request.texts
    tokens = sum(-(-len(text) // _CHARS_PER_TOKEN) for text in texts)
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": _encoded(text, request)}
            for index, text in enumerate(texts)
        ],
        "model": request.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _encoded(text: str, request: EmbeddingRequest) -> list[float] | str:
    vector = hashed_vector(text, request.dimensions)
    if request.encoding_format == "float":
        return vector.tolist()
    if sys.byteorder == "big":  # the API sends little-endian numbers
        vector.byteswap()
    return base64.b64encode(vector.tobytes()).decode()
