"""Secrets are cut out of what is logged, kept and told: errors quote what they were given.

Two nets. What this process knows to be secret (its settings, its models' keys) is replaced wherever it occurs. What
only looks like a secret is replaced by its form: keys, bearer tokens, passwords in URLs, `password=...`.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote, urlsplit

T = TypeVar("T")

HIDDEN = "***"
# Shorter ones would be found in innocent words.
_SHORTEST = 6
# A text that is cut within a secret could end in a part of it, which no form finds.
_LONGEST = 5_000
# Characters of an error that are kept or told: it may quote a whole document.
MOST_TOLD = 10_000

# A JSON text within JSON has a backslash before each quote, one within that has three, and so on.
_QUOTE = r"\\{0,31}+['\"]"
# Between a name, which may be in quotes, and its value.
_SEPARATOR = rf"(?:{_QUOTE})?\s*+(?:=>|[:=])\s*+"
# Up to the end of what a quote has begun (group 2 its backslashes, group 3 the mark), or of the line. With n
# backslashes it ends at n of them and a quote, also after any number of 2n + 2, which are backslashes of the text.
_QUOTED = r"(?:[^\\'\"\r\n]++|(?!(?:\2\2\\\\)*+\2\3)(?:\\++['\"]?|['\"]))++"
# A character of a value without quotes. A backslash before a quote belongs to the quote.
_BARE = r"(?:[^\s'\",;&)}\]\\]|\\++(?!['\"]))"
_NAME = (
    r"(?:password|passwd|passphrase|secret(?:[-_ ]?(?:access[-_ ]?)?key)?|(?:api|access|account|private)[-_ ]?key"
    r"|(?:access|api|auth|refresh|session)[-_ ]?token)"
)
_HEADER = rf"(?<![a-z])authorization{_SEPARATOR}"
# These two stay: they tell what was sent. Other words may be the secret itself.
_SCHEME = r"(?:bearer|basic)"


class _Form(NamedTuple):
    """Secrets of one form, found by `pattern`.

    A text that has none of `words`, in capitals or not, has no such secret, nor has one without any of `marks`.
    """

    words: tuple[str, ...]
    pattern: re.Pattern[str]
    marks: tuple[str, ...] = ("",)

    def may_be_in(self, text: str, folded: str) -> bool:
        """Say in a small part of the pattern's time that a text has no such secret, as most have none."""
        return any(mark in text for mark in self.marks) and any(word in folded for word in self.words)


_NAMED = ("pass", "secret", "key", "token")
_SEPARATORS = ("=", ":")

# Group 1 stands before a secret and is kept: it tells which secret it was. Strangers may have written the texts, so
# each form takes time in proportion to their length: none looks at the same characters from each place where it could
# begin. Of quotes of one kind each ends what the one before has begun, so a text is read once for each of the kinds.
_FORMS = (
    # A password in a URL; user and host stay, and so does the word that stands for one in a hint. Of the scheme the
    # last character is enough; looked for as a whole, it would be read again from each dot and hyphen in it.
    _Form(
        ("://",),
        re.compile(r"((?<=[a-zA-Z0-9+.-])://[^\s/?#:@'\"]*:)(?!PASSWORD@)[^\s/@'\"]+(?=@)"),
    ),
    # In quotes a value may hold blanks and commas.
    _Form(
        (*_NAMED, "authorization"),
        re.compile(rf"(?i)((?:{_NAME}{_SEPARATOR}|{_HEADER})(\\{{0,31}}+)(['\"])(?:{_SCHEME}\s++)?+){_QUOTED}"),
        _SEPARATORS,
    ),
    # Where a scheme has parameters, as Digest has, the rest of the line belongs to it.
    _Form(
        ("authorization",),
        re.compile(rf"(?i)({_HEADER})[a-z0-9-]++[ \t]++[a-z_-]++=(?:\\*+\"|[^\s=,;'\"\\])[^\r\n]*+"),
        _SEPARATORS,
    ),
    _Form(("authorization",), re.compile(rf"(?i)({_HEADER}{_SCHEME}\s++)[^\s'\",;*\\]{{6,}}"), _SEPARATORS),
    _Form(
        ("authorization",),
        re.compile(rf"(?i)({_HEADER})(?!{_SCHEME}\b)(?:[a-z0-9-]++[ \t]++)?[^\s'\",;*\\]{{6,}}"),
        _SEPARATORS,
    ),
    _Form(("bearer", "basic"), re.compile(rf"(?i)(\b{_SCHEME}\s+)[A-Za-z0-9._~+/=-]{{8,}}")),
    # Keys of model providers and code hosts; some are quoted with stars in the middle.
    _Form(
        ("sk", "pk", "rk", "xai", "hf", "gh", "github_pat", "glpat", "xox"),
        re.compile(
            r"(\b(?:sk|pk|rk|xai|gsk|hf|gh[oprsu]|github_pat|glpat|xox[abeprs])[-_])[A-Za-z0-9*_-]{6,}",
        ),
    ),
    _Form(("akia", "asia"), re.compile(r"(\bA[KS]IA)[A-Z0-9]{12,}")),
    _Form(("aiza",), re.compile(r"(\bAIza)[A-Za-z0-9_-]{20,}")),
    # Our own; the prefix is no secret.
    _Form(("tw_",), re.compile(r"(\btw_[0-9a-f]{12}_)[0-9a-f]{8,}")),
    # Those of webhooks, ours and others'.
    _Form(("whsec_",), re.compile(r"(\bwhsec_)[A-Za-z0-9+/=_-]{8,}")),
    # Signed tokens. Of several beginnings within one piece the first decides: after it there are the most characters.
    _Form(
        ("eyj",),
        re.compile(r"(?<![A-Za-z0-9_-])((?>[A-Za-z0-9_-]*?\beyJ))[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ),
    # The quote is one of more backslashes than are counted above.
    _Form(_NAMED, re.compile(rf"(?i)({_NAME}{_SEPARATOR}(?:\\*+['\"])?)(?!\*\*\*){_BARE}{{4,}}"), _SEPARATORS),
    # Of a URL's query: words that elsewhere stand before innocent values.
    _Form(
        ("token=", "key=", "sig=", "signature="),
        re.compile(rf"(?i)([?&;](?:x-amz-)?(?:security-)?(?:token|key|sig|signature)=)(?!\*\*\*){_BARE}{{8,}}"),
    ),
    # A token of any kind, where it looks like one: a parser's error has words after "token:", too.
    _Form(
        ("token",),
        re.compile(
            rf"(?i)((?<![a-z])token{_SEPARATOR}(?:\\*+['\"])?)(?=[a-z0-9_./+=-]{{16}})(?=[a-z_./+=-]{{0,40}}[0-9]){_BARE}{{4,}}"
        ),
        _SEPARATORS,
    ),
)

# Of all forms: most texts have none of them.
_WORDS = tuple({word for form in _FORMS for word in form.words})


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
    folded = text.casefold()
    for word in _WORDS:
        if word in folded:
            break
    else:
        return text
    for form in _FORMS:
        if form.may_be_in(text, folded):
            text = form.pattern.sub(rf"\g<1>{HIDDEN}", text)
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
