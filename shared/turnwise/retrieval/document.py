"""What a vector store keeps and finds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator
from pydantic.functional_validators import AfterValidator

Scalar = str | int | float | bool
# A filter: each key must have the value, or one of the values. Numbers compare by value; True is no 1.
Where = Mapping[str, Scalar | Sequence[Scalar]]


def _storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a NUL character, which PostgreSQL can not keep; take it out")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank, so nothing could be near to it; leave the document out")
    return text


_Text = Annotated[StrictStr, AfterValidator(_storable)]
_Value = _Text | StrictBool | StrictInt | Annotated[float, Field(strict=True, allow_inf_nan=False)]


def _content_id(fields: dict[str, Any]) -> str:
    content = json.dumps([fields.get("text"), fields.get("metadata")], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


class Document(BaseModel):
    """A text that can be found by its meaning, whole or as a part of a longer one.

    - `text`: not blank, and without NUL characters; it may be given, and asked for, as `content`.
    - `metadata`: texts, numbers and booleans, by which a search can be narrowed; `metadata["source"]` is what a reader
      is told about where the text comes from.
    - `id`: up to 500 characters; made of the content if not given, so whoever adds the same document twice has it once.

    Raises pydantic's `ValidationError` for a blank text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Annotated[_Text, AfterValidator(_not_blank)]
    metadata: dict[_Text, _Value] = Field(default_factory=dict)
    # Last, because its default is made of the others.
    id: _Text = Field(default_factory=_content_id, min_length=1, max_length=500)

    @model_validator(mode="before")
    @classmethod
    def _text_as_content(cls, given: Any) -> Any:
        """Programs of the same vocabulary call the text `content`."""
        if isinstance(given, dict) and "content" in given and "text" not in given:
            return {("text" if key == "content" else key): value for key, value in given.items()}
        return given

    @property
    def content(self) -> str:
        """The same as `text`, by the name that other programs of this vocabulary know."""
        return self.text

    @property
    def source(self) -> str:
        """Where the text comes from, "" where nothing is known."""
        return str(self.metadata.get("source", ""))


class ScoredDocument(Document):
    """A document that was found; `score` is the cosine of the angle to the query, from -1 to 1 (the same)."""

    score: float
