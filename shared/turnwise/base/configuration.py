"""The base class of the settings of tasks, agents and models."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

from turnwise.errors import ConfigurationError


class Configuration(BaseModel):
    """Settings of which one that does not exist is an error: a misspelt one would be a default that no one sees.

    A subclass may add fields, or allow any (`extra="allow"`).
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    # Settings that programs of the same vocabulary may have, and what stands for them here.
    _instead: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # a type checker would take any name

        def __setattr__(self, name: str, value: Any) -> None:
            # Private attributes and properties are no settings.
            refused = None if hasattr(type(self), name) or name.startswith("_") else refusal(type(self), name)
            if refused is not None:
                raise ConfigurationError(refused)
            super().__setattr__(name, value)

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, given: Any) -> Any:
        if isinstance(given, dict):
            for name in given:
                refused = refusal(cls, name)
                if refused is not None:
                    raise ConfigurationError(refused)
        return given

    @classmethod
    def _is_alias(cls, name: str) -> bool:
        return any(name in (field.alias, field.validation_alias) for field in cls.model_fields.values())

    @classmethod
    def _unknown(cls, name: str) -> str:
        near = get_close_matches(name, cls.model_fields, n=1)
        if name in cls._instead:
            advice = cls._instead[name]
        elif near:
            advice = f"did you mean {near[0]!r}?"
        else:
            advice = f"expected one of: {', '.join(sorted(cls.model_fields))}"
        return f"{cls.__name__} has no setting {name!r}; {advice}"


def refusal(settings: type[Configuration], name: str) -> str | None:
    """Return why a class of settings takes none of this name, and what it takes instead; None if it takes it."""
    if "extra" in settings.model_config or name in settings.model_fields or settings._is_alias(name):
        return None
    return settings._unknown(name)
