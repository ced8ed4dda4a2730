"""Names of `langroid.utils.pydantic_utils`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise.porting.helpers import get_field_names, has_field, temp_update

__all__ = [
    "get_field_names",
    "has_field",
    "temp_update",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
