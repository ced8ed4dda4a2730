"""Names of `langroid.parsing`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise.langroid.parsing import file_attachment, parse_json, parser, utils
    from turnwise.porting.inert import (
        BaseParsingConfig,
        DocParsingConfig,
        DocxParsingConfig,
        LLMPdfParserConfig,
        MarkerConfig,
        MarkitdownPPTXParsingConfig,
        MarkitdownXLSParsingConfig,
        MarkitdownXLSXParsingConfig,
        ParsingConfig,
        PdfParsingConfig,
        Splitter,
    )

__all__ = [
    "BaseParsingConfig",
    "DocParsingConfig",
    "DocxParsingConfig",
    "LLMPdfParserConfig",
    "MarkerConfig",
    "MarkitdownPPTXParsingConfig",
    "MarkitdownXLSParsingConfig",
    "MarkitdownXLSXParsingConfig",
    "ParsingConfig",
    "PdfParsingConfig",
    "Splitter",
    "file_attachment",
    "parse_json",
    "parser",
    "utils",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __getattr__, __dir__ = lend(__name__)
