"""Names of models that programs write often, so that an editor completes them and a misspelt one is an error."""

from __future__ import annotations

from enum import StrEnum


class ModelName(StrEnum):
    """A model's name: a text, equal to the name that the model's own server knows.

    As `chat_model` of a configuration without `api_base` a member stands for the model at its own provider. To reach it
    by another one, write that provider before it, such as `"openrouter/" + DeepSeekModel...`.
    """

    @property
    def at_provider(self) -> str:
        """The name with its provider before it, as `chat_model` takes it: `gemini/gemini-2.5-flash`."""
        prefix = _PREFIXES.get(type(self).__name__, "")
        known = prefix and not self.value.startswith((prefix, "openrouter/"))
        return prefix + self.value if known else self.value


class OpenAIChatModel(ModelName):
    """Names of models that OpenAI serves or has published."""

    GPT3_5_TURBO = "gpt-3.5-turbo"
    # Programs that say GPT4 mean the model that took the place of `gpt-4`, at a twelfth of its price.
    GPT4 = "gpt-4o"
    GPT4_TURBO = "gpt-4-turbo"
    GPT4o = "gpt-4o"
    GPT4o_MINI = "gpt-4o-mini"
    GPT4_1 = "gpt-4.1"
    GPT4_1_MINI = "gpt-4.1-mini"
    GPT4_1_NANO = "gpt-4.1-nano"
    O1 = "o1"
    O1_MINI = "o1-mini"
    O3 = "o3"
    O3_MINI = "o3-mini"
    O4_MINI = "o4-mini"
    GPT5 = "gpt-5"
    GPT5_MINI = "gpt-5-mini"
    GPT5_NANO = "gpt-5-nano"
    GPT5_PRO = "gpt-5-pro"
    GPT5_1 = "gpt-5.1"
    GPT5_1_CHAT = "gpt-5.1-chat-latest"
    GPT5_1_CODEX = "gpt-5.1-codex"
    GPT5_1_CODEX_MINI = "gpt-5.1-codex-mini"
    GPT5_2 = "gpt-5.2"
    GPT5_2_CHAT = "gpt-5.2-chat-latest"
    GPT5_2_PRO = "gpt-5.2-pro"
    # Open weights: OpenAI does not serve them, so the name needs a provider before it.
    GPT_OSS_120b = "gpt-oss-120b"
    GPT_OSS_20b = "gpt-oss-20b"


class AnthropicModel(ModelName):
    """Names of models that Anthropic serves."""

    CLAUDE_3_OPUS = "claude-3-opus-latest"
    CLAUDE_3_SONNET = "claude-3-sonnet-20240229"
    CLAUDE_3_HAIKU = "claude-3-haiku-20240307"
    CLAUDE_3_5_SONNET = "claude-3-5-sonnet-latest"
    CLAUDE_3_7_SONNET = "claude-3-7-sonnet-latest"
    CLAUDE_4_OPUS = "claude-opus-4-0"
    CLAUDE_4_SONNET = "claude-sonnet-4-0"
    CLAUDE_4_5_OPUS = "claude-opus-4-5"
    CLAUDE_4_5_SONNET = "claude-sonnet-4-5"
    CLAUDE_4_5_HAIKU = "claude-haiku-4-5"


class GeminiModel(ModelName):
    """Names of models that Google serves."""

    GEMINI_1_5_FLASH = "gemini-1.5-flash"
    GEMINI_1_5_FLASH_8B = "gemini-1.5-flash-8b"
    GEMINI_1_5_PRO = "gemini-1.5-pro"
    GEMINI_2_FLASH = "gemini-2.0-flash"
    GEMINI_2_FLASH_LITE = "gemini-2.0-flash-lite"
    GEMINI_2_FLASH_THINKING = "gemini-2.0-flash-thinking-exp"
    GEMINI_2_PRO = "gemini-2.0-pro-exp-02-05"
    GEMINI_2_5_FLASH = "gemini-2.5-flash"
    GEMINI_2_5_FLASH_LITE = "gemini-2.5-flash-lite"
    GEMINI_2_5_PRO = "gemini-2.5-pro"
    GEMINI_3_FLASH = "gemini-3-flash-preview"
    GEMINI_3_PRO = "gemini-3-pro-preview"


class DeepSeekModel(ModelName):
    """Names of models of DeepSeek, each with the provider that serves it."""

    DEEPSEEK = "deepseek/deepseek-chat"
    DEEPSEEK_R1 = "deepseek/deepseek-reasoner"
    OPENROUTER_DEEPSEEK_R1 = "openrouter/deepseek/deepseek-r1"


class MiniMaxModel(ModelName):
    """Names of models that MiniMax serves."""

    MINIMAX_M2 = "MiniMax-M2"
    MINIMAX_M2_1 = "MiniMax-M2.1"
    MINIMAX_M2_1_HIGHSPEED = "MiniMax-M2.1-highspeed"
    MINIMAX_M2_5 = "MiniMax-M2.5"
    MINIMAX_M2_5_HIGHSPEED = "MiniMax-M2.5-highspeed"
    MINIMAX_M2_7 = "MiniMax-M2.7"
    MINIMAX_M2_7_HIGHSPEED = "MiniMax-M2.7-highspeed"


# By class name, as members cannot hold what is not a member. OpenAI's own need no prefix.
_PREFIXES = {
    "AnthropicModel": "anthropic/",
    "GeminiModel": "gemini/",
    "DeepSeekModel": "deepseek/",
    "MiniMaxModel": "minimax/",
}
