"""Names of `langroid.language_models.model_info`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import AnthropicModel, DeepSeekModel, GeminiModel, MiniMaxModel, ModelName, OpenAIChatModel

__all__ = [
    "AnthropicModel",
    "DeepSeekModel",
    "GeminiModel",
    "MiniMaxModel",
    "ModelName",
    "OpenAIChatModel",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
