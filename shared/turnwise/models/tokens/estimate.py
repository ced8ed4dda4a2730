"""Estimates of tokens: of texts, messages and function schemas; cheap, offline, the same in every process."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from turnwise.models.base import LLMFunctionCall, LLMMessage, ToolChoice

# 7 bytes are counted as 2 tokens.
_BYTES, _TOKENS = 7, 2


def estimated_tokens(text: str) -> int:
    """About how many tokens the text has: its UTF-8 bytes, divided by 3.5."""
    size = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
    return -(-size * _TOKENS // _BYTES)


def most_tokens(estimate: int) -> int:
    """An upper bound of the tokens in texts of that estimate: their bytes. No byte-level BPE makes more of them."""
    return -(-estimate * _BYTES // _TOKENS)


def beginning(text: str, tokens: int) -> str:
    """The first `tokens` tokens of the text, about; all of it where it has no more."""
    if estimated_tokens(text) <= tokens:
        return text
    most = tokens * _BYTES // _TOKENS
    return text[:most].encode(errors="surrogatepass")[:most].decode(errors="ignore")


def shortened(text: str, tokens: int) -> str:
    """The text, or its beginning and a note of how much is missing."""
    kept = beginning(text, tokens)
    return text if len(kept) == len(text) else f"{kept}\n[truncated: {len(text) - len(kept)} more characters]"


# What a chat-completions API adds to each message (its role and its ends), and to each call in one. OpenAI's cookbook,
# "How to count tokens with tiktoken", gives 3 for a message and 1 for its role.
PER_MESSAGE = 4
PER_CALL = 4
# The most that roles, names of fields and ids of calls add to a message in any provider's form, beyond these.
MOST_FORM = 32

Count = Callable[[str], int]


def message_tokens(message: LLMMessage, count: Count = estimated_tokens) -> int:
    """Return what a message takes of a prompt, its calls and files included."""
    total = PER_MESSAGE + count(message.content)
    for file in message.files:
        total += file.likely_tokens()
    if message.name:
        total += count(message.name)
    for call in message.tool_calls or ():
        if call.function is not None:
            total += _call_tokens(call.function, count)
    if message.function_call is not None:
        total += _call_tokens(message.function_call, count)
    return total


def most_of_files(messages: Iterable[LLMMessage]) -> int:
    """An upper bound of what the files of the messages take, beyond what `message_tokens` counts for them."""
    return sum(file.most_tokens() - file.likely_tokens() for message in messages for file in message.files)


def choice_tokens(choice: ToolChoice | None, count: Count = estimated_tokens) -> int:
    """Return what functions and format take of a prompt; providers write schemas shorter than JSON is, so it is the
    most.
    """
    if choice is None:
        return 0
    total = sum(PER_CALL + count(spec.as_json) for spec in choice.tools)
    return total + (count(choice.response_format.as_json) if choice.response_format is not None else 0)


def _call_tokens(call: LLMFunctionCall, count: Count) -> int:
    return PER_CALL + count(call.name) + count(call.written)
