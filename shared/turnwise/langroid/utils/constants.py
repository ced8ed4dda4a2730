"""Names of `langroid.utils.constants`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import AT, DONE, NO_ANSWER, PASS, PASS_TO, SEND_TO, USER_QUIT_STRINGS
    from turnwise.porting.helpers import Colors

__all__ = [
    "AT",
    "DONE",
    "NO_ANSWER",
    "PASS",
    "PASS_TO",
    "SEND_TO",
    "USER_QUIT_STRINGS",
    "Colors",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
