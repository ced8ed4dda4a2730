"""Names of `langroid` that programs may use, but that have no effect here; the table says why."""

from __future__ import annotations

from enum import Enum
from typing import Any

from turnwise.errors import AbsentAttributeError
from turnwise.porting.table import MODULES
from turnwise.porting.values import Accepted


class _Inert:
    """Settings of any name, which nothing reads but the program itself."""

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def __getattr__(self, name: str) -> Any:
        raise AbsentAttributeError(
            f"{type(self).__name__} has no {name!r} here, as the program set none: {_sentence(type(self))}", name=name
        )


def _sentence(kind: type[_Inert]) -> str:
    """Return why a class, or the one that a program's class extends, has no effect."""
    targets = [f"{__name__}:{each.__name__}" for each in kind.__mro__]
    values = [value for names in MODULES.values() for value in names.values() if isinstance(value, Accepted)]
    return next(value.sentence for target in targets for value in values if value.target == target)


class CacheDBConfig(_Inert):
    """Settings of a cache of answers."""


class RedisCacheConfig(CacheDBConfig):
    """Settings of a cache of answers in Redis."""


class PromptsConfig(_Inert):
    """Settings of prompts."""


class Splitter(str, Enum):
    """Ways to split a text into parts."""

    TOKENS = "tokens"
    PARA_SENTENCE = "para_sentence"
    SIMPLE = "simple"
    MARKDOWN = "markdown"


class BaseParsingConfig(_Inert):
    """Settings of a reader of documents."""


class ParsingConfig(BaseParsingConfig):
    """Settings of how documents are read and split."""


class PdfParsingConfig(BaseParsingConfig):
    """Settings of how PDF files are read."""


class LLMPdfParserConfig(BaseParsingConfig):
    """Settings of how a model reads PDF files."""


class MarkerConfig(BaseParsingConfig):
    """Settings of how `marker` reads PDF files."""


class DocxParsingConfig(BaseParsingConfig):
    """Settings of how DOCX files are read."""


class DocParsingConfig(BaseParsingConfig):
    """Settings of how DOC files are read."""


class MarkitdownPPTXParsingConfig(BaseParsingConfig):
    """Settings of how PPTX files are read."""


class MarkitdownXLSXParsingConfig(BaseParsingConfig):
    """Settings of how XLSX files are read."""


class MarkitdownXLSParsingConfig(BaseParsingConfig):
    """Settings of how XLS files are read."""


def setup_colored_logging() -> None:
    """Leave the loggers of the program as they are."""
