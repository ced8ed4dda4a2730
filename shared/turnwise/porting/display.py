"""`langroid.utils.configuration`: settings of this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from turnwise.base.configuration import refusal
from turnwise.errors import ConfigurationError
from turnwise.observability import display
from turnwise.porting.accepting import Accepting, without_effect
from turnwise.porting.table import SETTINGS


class Settings(Accepting, display.Settings):
    """`turnwise.Settings`; settings without effect here are accepted with a warning."""

    _without_effect: ClassVar[Mapping[str, str]] = SETTINGS["Settings"]
    _instead: ClassVar[Mapping[str, str]] = {
        "chat_model": "a model is named where it is used: `OpenAIGPTConfig(chat_model=...)`",
    }

    cache: bool = without_effect(True)
    cache_type: str = without_effect("none")
    debug: bool = without_effect(False)
    notebook: bool = without_effect(False)
    progress: bool = without_effect(False)
    stream: bool = without_effect(True)


# The settings without effect, as programs set them for the process, for those that read them again.
_kept = Settings()


def set_global(new: display.Settings) -> None:
    """Take over the settings of `new` that were given, for the whole process."""
    for name in new.model_fields_set & set(Settings._without_effect):
        _kept.__dict__[name] = getattr(new, name)
    display.set_global(display.Settings(**new.model_dump(exclude_unset=True)))


class _SettingsView:
    """The settings in force, with those that have no effect."""

    def __getattr__(self, name: str) -> Any:
        current = display.current_settings()
        if name in Settings._without_effect and not isinstance(current, Settings):
            return getattr(_kept, name)
        return getattr(current, name)

    def __setattr__(self, name: str, value: object) -> None:
        if refused := refusal(Settings, name):
            raise ConfigurationError(refused)
        setattr(_kept if name in Settings._without_effect else display.settings, name, value)


settings = _SettingsView()
