"""Names of `langroid.language_models.base`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import (
        LanguageModel,
        LLMFunctionCall,
        LLMFunctionSpec,
        LLMMessage,
        LLMResponse,
        LLMTokenUsage,
        OpenAIJsonSchemaSpec,
        OpenAIToolCall,
        OpenAIToolSpec,
        Role,
        StreamEventType,
    )
    from turnwise.porting.settings import LLMConfig

__all__ = [
    "LLMConfig",
    "LLMFunctionCall",
    "LLMFunctionSpec",
    "LLMMessage",
    "LLMResponse",
    "LLMTokenUsage",
    "LanguageModel",
    "OpenAIJsonSchemaSpec",
    "OpenAIToolCall",
    "OpenAIToolSpec",
    "Role",
    "StreamEventType",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
