"""Names of `langroid.language_models.openai_gpt`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import (
        AnthropicModel,
        DeepSeekModel,
        GeminiModel,
        MiniMaxModel,
        OpenAICallParams,
        OpenAIChatModel,
        OpenAIGPT,
    )
    from turnwise.porting.settings import OpenAIGPTConfig

__all__ = [
    "AnthropicModel",
    "DeepSeekModel",
    "GeminiModel",
    "MiniMaxModel",
    "OpenAICallParams",
    "OpenAIChatModel",
    "OpenAIGPT",
    "OpenAIGPTConfig",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
