"""Names of `langroid.utils`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise.langroid.utils import algorithms, configuration, constants, globals, logging, output, pydantic_utils

__all__ = [
    "algorithms",
    "configuration",
    "constants",
    "globals",
    "logging",
    "output",
    "pydantic_utils",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __getattr__, __dir__ = lend(__name__)
