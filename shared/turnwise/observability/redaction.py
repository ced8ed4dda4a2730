"""Secrets are cut out of what is logged, kept and told: errors quote what they were given.

Two nets. What this process knows to be secret (its settings, its models' keys) is replaced wherever it occurs. What
only looks like a secret is replaced by its form: keys, bearer tokens, passwords in URLs, `password=...`.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from typing import Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

T = TypeVar("T")

HIDDEN = "***"
# Shorter ones would be found in innocent words.
_SHORTEST = 6
# A text that is cut within a secret could end in a part of it, which no form finds.
_LONGEST = 5_000
# Characters of an error that are kept or told: it may quote a whole document.
MOST_TOLD = 10_000

# Group 1 stands before a secret and is kept: it tells which secret it was. Strangers may have written the texts, so
# each form takes time in proportion to their length: none looks at the same characters from each place where it could
# begin.
_FORMS = (
    # A password in a URL; user and host stay, and so does the word that stands for one in a hint. Of the scheme the
    # last character is enough; looked for as a whole, it would be read again from each dot and hyphen in it.
    re.compile(r"((?<=[a-zA-Z0-9+.-])://[^\s/?#:@'\"]*:)(?!PASSWORD@)[^\s/@'\"]+(?=@)"),
    re.compile(r"(?i)(\bauthorization['\"]?\s*[:=]\s*['\"]?)(?!bearer\b|basic\b)[^\s'\",;*]{6,}"),
    re.compile(r"(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}"),
    # Keys of model providers and code hosts; some are quoted with stars in the middle.
    re.compile(r"(\b(?:sk|pk|rk|xai|gsk|hf|ghp|gho|ghs|glpat|xox[abp])[-_])[A-Za-z0-9*_-]{6,}"),
    re.compile(r"(\bAKIA)[A-Z0-9]{12,}"),
    # Our own; the prefix is no secret.
    re.compile(r"(\btw_[0-9a-f]{12}_)[0-9a-f]{8,}"),
    # Those of webhooks, ours and others'.
    re.compile(r"(\bwhsec_)[A-Za-z0-9+/=_-]{8,}"),
    # Signed tokens. Of several beginnings within one piece the first decides: after it there are the most characters.
    re.compile(r"(?<![A-Za-z0-9_-])((?>[A-Za-z0-9_-]*?\beyJ))[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    re.compile(
        r"(?i)((?:password|passwd|secret|api[-_ ]?key|access[-_ ]?token|auth[-_ ]?token)(?:['\"]?\s*[:=]\s*['\"]?))"
        r"(?!\*\*\*)[^\s'\",;&)}\]]{4,}"
    ),
)


class _Known:
    """The secrets of this process; like its environment, they are its own and not an object's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None

    def add(self, secret: str) -> None:
        if secret in self._texts:
            return
        with self._lock:
            found = self._texts | set(_as_written(secret))
            if found != self._texts:
                # The longest first: one may be a part of another.
                texts = sorted(found, key=len, reverse=True)
                self._texts, self._pattern = found, re.compile("|".join(map(re.escape, texts)))

    def hide_in(self, text: str) -> str:
        return self._pattern.sub(HIDDEN, text) if self._pattern is not None else text


_known = _Known()


def hide(secret: str | None) -> None:
    """Keep this secret of the process out of logs, events and errors from now on.

    A URL's secret is its password. One that equals the user's name is none: that name is shown beside it, and may be a
    word of many texts, as in `postgresql://turnwise:turnwise@postgres/turnwise`.
    """
    if not secret:
        return
    if "://" in secret:
        secret = _password(secret)
    if len(secret) >= _SHORTEST:
        _known.add(secret)


def redact(text: str) -> str:
    """The text without what is or looks like a secret; takes time in proportion to its length, whatever it holds."""
    text = _known.hide_in(text)
    for form in _FORMS:
        text = form.sub(rf"\g<1>{HIDDEN}", text)
    return text


def redact_beginning(text: str, most: int = MOST_TOLD) -> str:
    """Up to `most` characters of the text without what is or looks like a secret; "…" follows where there is more.

    No more of the text is looked at than is needed for that.
    """
    beginning = text[: most + _LONGEST]
    found = redact(beginning)
    if len(beginning) < len(text):
        # Whatever was cut in two stands in here, also where secrets before it have become short.
        found = found[:-_LONGEST]
    elif len(found) <= most:
        return found
    return found[:most] + "…"


def redacted(value: T) -> T:
    """A JSON value without secrets in its texts; its names stay."""
    found: Any = value
    if isinstance(value, str):
        found = redact(value)
    elif isinstance(value, dict):
        found = {name: redacted(item) for name, item in value.items()}
    elif isinstance(value, list | tuple):
        found = type(value)(redacted(item) for item in value)
    return found  # type: ignore[no-any-return]  # of the same form


def _as_written(secret: str) -> Iterator[str]:
    """The secret in the forms in which texts quote it."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield repr(secret)[1:-1]
    yield quote(secret, safe="")
    yield unquote(secret)


def _password(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return parts.password if parts.password and parts.password != parts.username else ""
