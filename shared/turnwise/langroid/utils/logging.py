"""Names of `langroid.utils.logging`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise.porting.helpers import setup_logger
    from turnwise.porting.inert import setup_colored_logging

__all__ = [
    "setup_colored_logging",
    "setup_logger",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
