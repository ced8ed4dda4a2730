"""How many tokens a text has, about: cheap, offline, and the same in every process.

The estimate is for deciding whether a conversation may be too long for a model. What may be spent is limited by the
bound, `most_tokens`, and bills come from the provider's `usage`. Measured against o200k: prose has 0.7 to 0.8 tokens
for one of the estimate, code 0.9, JSON 1.5, CSV with numbers 1.9, base64 2.4.
"""

from __future__ import annotations

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
