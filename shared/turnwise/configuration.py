"""What the settings of tasks, agents and models have in common."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

from turnwise.errors import ConfigurationError


class Configuration(BaseModel):
    """Settings of which one that does not exist is an error: a misspelt one would be a default that nobody sees.

    A subclass may add fields, or allow any (`extra="allow"`).
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    # Settings that programs of the same vocabulary may have, and what stands for them here.
    _instead: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, given: Any) -> Any:
        if isinstance(given, dict) and "extra" not in cls.model_config:
            for name in given:
                if name not in cls.model_fields and not cls._is_alias(name):
                    raise ConfigurationError(cls._unknown(name))
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
