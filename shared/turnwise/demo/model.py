"""The choice of the desk's model."""

from __future__ import annotations

import os
from decimal import Decimal

from turnwise import OpenAIGPTConfig

# The stand-in that `turnwise fake-llm` serves; priced, so that the cost column has something to show.
FAKE_MODEL = "turnwise-fake"
_USD_PER_MILLION_TOKENS = Decimal("0.50")


def model_config() -> OpenAIGPTConfig:
    """`TURNWISE_DEMO_MODEL`, else the default model where `OPENAI_API_KEY` is set, else the local stand-in.

    Where the server is, `OPENAI_BASE_URL` says.
    """
    name = os.environ.get("TURNWISE_DEMO_MODEL") or ("" if os.environ.get("OPENAI_API_KEY") else FAKE_MODEL)
    if name == FAKE_MODEL:
        return OpenAIGPTConfig(
            chat_model=name, input_price=_USD_PER_MILLION_TOKENS, output_price=_USD_PER_MILLION_TOKENS
        )
    return OpenAIGPTConfig(chat_model=name) if name else OpenAIGPTConfig()
