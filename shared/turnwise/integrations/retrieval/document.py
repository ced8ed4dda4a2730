"""The documents of a vector store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    StrictBool,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)
from pydantic.functional_validators import AfterValidator
from pydantic_core import CoreSchema, core_schema

from turnwise.base.ids import new_id
from turnwise.base.json_bounds import is_unicode

Scalar = str | int | float | bool
# A filter: each key must have the value, or one of the values. Numbers compare by value; True is no 1.
Where = Mapping[str, Scalar | Sequence[Scalar]]


def checked_text(text: str) -> str:
    """Return the text; raises `ValueError` for one that no database keeps as it is."""
    if "\0" in text:
        raise ValueError("holds a NUL character, which PostgreSQL cannot keep; take it out")
    if not is_unicode(text):
        raise ValueError("holds half of a surrogate pair, which is no text; take it out")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank, so nothing could be near to it; leave the document out")
    return text


_Text = Annotated[StrictStr, AfterValidator(checked_text)]
_Value = _Text | StrictBool | StrictInt | Annotated[float, Field(strict=True, allow_inf_nan=False)]


def _content_id(fields: dict[str, Any]) -> str:
    content = json.dumps([fields.get("text"), fields.get("metadata")], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


class Metadata(dict[str, Scalar]):
    """Entries about a document, which may be read as attributes, too: `metadata.source` is `metadata["source"]`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(sorted(self)) or "none"
            raise AttributeError(f"the document's metadata has no entry {name!r}; it has: {known}") from None

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(cls, handler(dict[_Text, _Value]))


class DocMetaData(BaseModel):
    """Metadata of a document by named fields, for `Document(metadata=...)`; a subclass adds fields of its own.

    - `source`: where the text comes from; `source_content`: the passage there; `title` and `published_date`.
    - `id`: the document's, where it is given.
    - `is_chunk`: the text is a part of a longer one; `window_ids`: ids of the parts around it, which no store keeps.

    Of the fields, a document keeps those that are set, in its `metadata`: texts, numbers and booleans.
    """

    source: str = "context"
    source_content: str = "context"
    title: str = "Unknown Title"
    published_date: str = "Unknown Date"
    is_chunk: bool = False
    id: str = Field(default_factory=lambda: new_id("document"))
    window_ids: list[str] = Field(default_factory=list)

    @field_validator("id", mode="before")
    @classmethod
    def _as_text(cls, given: Any) -> Any:
        return new_id("document") if given is None else str(given)

    def entries(self) -> dict[str, Any]:
        """Return what a document keeps of it: what is set, without `id` and `window_ids`."""
        given = self.model_dump(exclude_unset=True, exclude={"id", "window_ids"})
        return {name: value for name, value in given.items() if value is not None}


class Document(BaseModel):
    """A text that can be found by its meaning, whole or as a part of a longer one.

    - `text`: not blank, and without NUL characters; it may be given, and asked for, as `content`.
    - `metadata`: texts, numbers and booleans, by which a search can be narrowed, as a dict or a `DocMetaData`. They are
      read as entries or attributes; `metadata["source"]` is what a reader is told about where the text comes from.
    - `id`: up to 500 characters; made of the content if not given, so whoever adds the same document twice has it once.

    Raises pydantic's `ValidationError` for a blank text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Annotated[_Text, AfterValidator(_not_blank)]
    # `Metadata`; a type checker lets it be given in each form, and read in each.
    metadata: Annotated[Any, GetPydanticSchema(lambda _source, handler: handler(Metadata))] = Field(
        default_factory=Metadata
    )
    # Last, because its default is made of the others.
    id: _Text = Field(default_factory=_content_id, min_length=1, max_length=500)

    @model_validator(mode="before")
    @classmethod
    def _other_forms(cls, given: Any) -> Any:
        """Langroid programs call the text `content`, and give metadata by fields."""
        if not isinstance(given, dict):
            return given
        if "content" in given and "text" not in given:
            given = {("text" if key == "content" else key): value for key, value in given.items()}
        about = given.get("metadata")
        if isinstance(about, DocMetaData):
            named = {"id": about.id} if "id" in about.model_fields_set else {}
            given = {**named, **given, "metadata": about.entries()}
        return given

    @classmethod
    def from_string(cls, content: str, source: str = "context", is_chunk: bool = True) -> Self:
        """Return a document of a text; `source` and `is_chunk` are entries of its metadata."""
        return cls(text=content, metadata={"source": source, "is_chunk": is_chunk})

    @property
    def content(self) -> str:
        """The same as `text`, by its name in Langroid."""
        return self.text

    @property
    def source(self) -> str:
        """Return where the text comes from, "" where nothing is known."""
        return str(self.metadata.get("source", ""))


class ScoredDocument(Document):
    """A document that was found; `score` is the cosine of the angle to the query, from -1 to 1 (the same)."""

    score: float
