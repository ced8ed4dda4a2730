"""Files that a model is sent beside a text: images, PDFs and others that its provider takes."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
from pathlib import Path
from typing import Any, BinaryIO, Self
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_serializer, field_validator, model_validator

from turnwise.errors import ConfigurationError

_UNKNOWN = "application/octet-stream"
_WEB, _REMOTE = ("http://", "https://"), ("http://", "https://", "ftp://")
# About what an image takes of a prompt at the larger providers, and a page of a PDF.
_LIKELY_TOKENS = 1_500
# Bytes of a PDF for one token of it, about: 50 kB a page.
_BYTES_PER_TOKEN = 30
# The most that any provider charges for an image: that of gpt-4o-mini in high detail has 36,835 tokens.
_MOST_TOKENS = 40_000


class FileAttachment(BaseModel):
    """A file that is sent to a model, in `ChatDocument.files` or `LLMMessage.files`.

    - `content`: its bytes, b"" for a file that is named by its `url` alone.
    - `filename`: by default one that is made of the content; `mime_type`: guessed of the name where it is not given.
    - `url`: where it is. The provider fetches an image from an `http(s)` URL; other files need their content.
    - `detail`: how closely an image is looked at, as the provider names it ("low", "high"); None leaves that to it.

    What the files take of a prompt is estimated: 1,500 tokens, and one for 30 bytes of other files than images. Limits
    on tokens and cost reserve 40,000 tokens, or one for each byte of other files where that is more.
    """

    model_config = ConfigDict(frozen=True)

    content: bytes = Field(b"", repr=False)
    filename: str | None = None
    mime_type: str = _UNKNOWN
    url: str | None = None
    detail: str | None = None

    @field_validator("content", mode="before")
    @classmethod
    def _of_base64(cls, given: Any) -> Any:
        """Bytes stand in JSON as base64."""
        return base64.b64decode(given, validate=True) if isinstance(given, str) else given

    @field_serializer("content", when_used="json")
    def _as_base64(self, content: bytes) -> str:
        return base64.b64encode(content).decode()

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        named = {name: value for name, value in given.items() if value is not None}
        if "mime_type" not in named and (name := named.get("filename")):
            named["mime_type"] = mimetypes.guess_type(str(name))[0] or _UNKNOWN
        if "filename" not in named:
            content = named.get("content", b"")
            seed = content if isinstance(content, bytes) else str(content).encode()
            seed += str(named.get("url", "")).encode()
            named["filename"] = f"attachment_{hashlib.sha256(seed).hexdigest()[:8]}.bin"
        return named

    @classmethod
    def from_path(cls, path: str | Path, detail: str | None = None) -> Self:
        """Read a file, or name one by its URL, which is not fetched here.

        Raises `OSError` for a file that cannot be read.
        """
        if str(path).startswith(_REMOTE):
            return cls.from_url(str(path), detail=detail)
        file = Path(path)
        return cls(content=file.read_bytes(), filename=file.name, detail=detail)

    @classmethod
    def from_url(
        cls,
        url: str,
        content: bytes | None = None,
        filename: str | None = None,
        mime_type: str | None = None,
        detail: str | None = None,
    ) -> Self:
        """Name a file by its URL; `content` are its bytes, where they are at hand."""
        name = filename or unquote(urlsplit(url).path.rpartition("/")[2]) or None
        given = {"filename": name, "mime_type": mime_type, "url": url, "detail": detail}
        return cls.model_validate({"content": content or b"", **given})

    @classmethod
    def from_bytes(cls, content: bytes, filename: str | None = None, mime_type: str | None = None) -> Self:
        """Make an attachment of bytes in memory."""
        return cls.model_validate({"content": content, "filename": filename, "mime_type": mime_type})

    @classmethod
    def from_io(cls, file_obj: BinaryIO, filename: str | None = None, mime_type: str | None = None) -> Self:
        """Read what is left of an open binary file."""
        return cls.from_bytes(file_obj.read(), filename, mime_type)

    @classmethod
    def from_text(
        cls, text: str, filename: str | None = None, mime_type: str = "text/plain", encoding: str = "utf-8"
    ) -> Self:
        """Make a text file of a string."""
        return cls.from_bytes(text.encode(encoding), filename, mime_type)

    @property
    def is_image(self) -> bool:
        """Return whether the MIME type is one of an image."""
        return self.mime_type.startswith("image/")

    def to_base64(self) -> str:
        """Return the content in base64."""
        return base64.b64encode(self.content).decode()

    def to_data_uri(self) -> str:
        """Return the content as a `data:` URI with its MIME type."""
        return f"data:{self.mime_type};base64,{self.to_base64()}"

    def to_dict(self, model: str = "") -> dict[str, Any]:
        """Return the part of a message's content that the chat-completions API takes for it.

        Images, and all files for `model` of the family Gemini, are an `image_url`; others are a `file`. Raises
        `ConfigurationError` for a file without content that the provider would not fetch.
        """
        if self.is_image or "gemini" in model.lower():
            there = self.url is not None and self.url.startswith(_WEB)
            image = {"url": self.url if there else self._data_uri(), "detail": self.detail}
            return {"type": "image_url", "image_url": {name: value for name, value in image.items() if value}}
        return {"type": "file", "file": {"filename": self.filename, "file_data": self._data_uri()}}

    def likely_tokens(self) -> int:
        """Estimate the tokens that the file takes of a prompt."""
        return _LIKELY_TOKENS if self.is_image else _LIKELY_TOKENS + len(self.content) // _BYTES_PER_TOKEN

    def most_tokens(self) -> int:
        """Return an upper bound of the tokens that the file takes of a prompt."""
        return _MOST_TOKENS if self.is_image else max(_MOST_TOKENS, len(self.content))

    def _data_uri(self) -> str:
        if self.url and not self.content:
            raise ConfigurationError(
                f"the file {self.filename!r} ({self.mime_type}) has only the URL {self.url}, but providers fetch "
                "images alone; download it, and give its bytes: FileAttachment.from_url(url, content=...)"
            )
        return self.to_data_uri()
