"""Names of `langroid.parsing.parse_json`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise.porting.helpers import extract_top_level_json, is_valid_json, top_level_json_field

__all__ = [
    "extract_top_level_json",
    "is_valid_json",
    "top_level_json_field",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
