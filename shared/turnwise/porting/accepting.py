"""Settings that accept some names without effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator

from turnwise.base.configuration import Configuration
from turnwise.porting.notice import tell


def without_effect(default: Any = None) -> Any:
    """Return the field of a setting without effect: readable, and left out of what is written down."""
    return Field(default, exclude=True, repr=False)


class Accepting(Configuration):
    """Settings of which some are accepted with one warning: `_without_effect`, each with a sentence why."""

    _without_effect: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _tell_of_settings(cls, given: Any) -> Any:
        if isinstance(given, dict):
            cls._tell(given)
        return given

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "_without_effect" not in vars(cls):  # what has a table of its own declares the settings that are in it
            cls._tell(cls.__annotations__)

    def __setattr__(self, name: str, value: Any) -> None:
        self._tell((name,))
        super().__setattr__(name, value)

    @classmethod
    def _tell(cls, names: Any) -> None:
        for name in names:
            if name in cls._without_effect:
                tell(f"the setting {name!r}", cls._without_effect[name])
