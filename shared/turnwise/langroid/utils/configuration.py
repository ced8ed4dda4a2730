"""Names of `langroid.utils.configuration`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import quiet_mode, temporary_settings
    from turnwise.porting.display import Settings, set_global, settings

__all__ = [
    "Settings",
    "quiet_mode",
    "set_global",
    "settings",
    "temporary_settings",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
