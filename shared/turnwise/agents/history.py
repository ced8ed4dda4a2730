"""The messages of an agent's conversation with its model."""

from __future__ import annotations

from turnwise.llm.base import LLMMessage, Role

# Rough and cheap: English text has about four bytes a token. Exact counts come from the provider's usage.
_BYTES_PER_TOKEN = 4


def estimated_tokens(text: str) -> int:
    """About how many tokens the text has."""
    return -(-len(text.encode(errors="surrogatepass")) // _BYTES_PER_TOKEN)


def index_of_nth(messages: list[LLMMessage], role: Role, n: int) -> int:
    """The index of the n-th message (from 1) of that role, -1 if there are not so many."""
    seen = 0
    for index, message in enumerate(messages):
        if message.role == role:
            seen += 1
            if seen == n:
                return index
    return -1


def index_of_last(messages: list[LLMMessage], role: Role) -> int:
    """The index of the last message of that role, -1 if there is none."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == role:
            return index
    return -1
