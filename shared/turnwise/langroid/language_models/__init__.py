"""Names of `langroid.language_models`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import (
        AnthropicModel,
        GeminiModel,
        LLMFunctionCall,
        LLMFunctionSpec,
        LLMMessage,
        LLMResponse,
        LLMTokenUsage,
        MiniMaxModel,
        MockLM,
        OpenAICallParams,
        OpenAIChatModel,
        OpenAIGPT,
        Role,
        StreamEventType,
    )
    from turnwise.langroid.language_models import azure_openai, base, mock_lm, model_info, openai_gpt, prompt_formatter
    from turnwise.porting.settings import AzureConfig, LLMConfig, MockLMConfig, OpenAIGPTConfig

__all__ = [
    "AnthropicModel",
    "AzureConfig",
    "GeminiModel",
    "LLMConfig",
    "LLMFunctionCall",
    "LLMFunctionSpec",
    "LLMMessage",
    "LLMResponse",
    "LLMTokenUsage",
    "MiniMaxModel",
    "MockLM",
    "MockLMConfig",
    "OpenAICallParams",
    "OpenAIChatModel",
    "OpenAIGPT",
    "OpenAIGPTConfig",
    "Role",
    "StreamEventType",
    "azure_openai",
    "base",
    "mock_lm",
    "model_info",
    "openai_gpt",
    "prompt_formatter",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __getattr__, __dir__ = lend(__name__)
