"""The form of API keys."""

from __future__ import annotations

import hashlib

from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.property_settings import examples

from turnwise.observability.redaction import redact
from turnwise.record.tenants.api_key import ApiKey

keys = st.builds(
    lambda prefix, secret: f"tw_{prefix}_{secret}",
    st.text("0123456789abcdef", min_size=12, max_size=12),
    st.text("0123456789abcdef", min_size=64, max_size=64),
)


@examples(20)
@given(keys)
def test_a_key_is_what_its_text_says(text: str) -> None:
    key = ApiKey.parse(text)

    assert key is not None
    assert key.text == text
    assert f"tw_{key.prefix}_" == text[:16]
    assert key.has_hash(hashlib.sha256(text.encode()).hexdigest())
    assert text[16:] not in redact(f"the key {text} came in")


@examples(20)
@given(keys, keys)
def test_a_key_has_no_hash_but_its_own(one: str, other: str) -> None:
    first, second = ApiKey.parse(one), ApiKey.parse(other)

    assert first is not None and second is not None
    assert first.has_hash(second.hash) == (one == other)
    assert not first.has_hash("")
    assert not first.has_hash(f"{first.hash}ü")


@examples(40)
@given(
    st.text() | st.builds(lambda text, at, put: text[:at] + put + text[at:], keys, st.integers(0, 80), st.text("0aA_ "))
)
@example("tw_٠٠٠٠٠٠٠٠٠٠٠٠_" + "0" * 64)
@example("tw_" + "0" * 12 + "_" + "0" * 64 + "\n")
def test_nothing_else_is_one(text: str) -> None:
    key = ApiKey.parse(text)

    assert (key is not None) == (len(text) == 80 and text.startswith("tw_") and _is_hex(text))


def _is_hex(text: str) -> bool:
    digits = "0123456789abcdef"
    return text[15] == "_" and all(one in digits for one in text[3:15] + text[16:])


def test_a_new_key_is_a_key_that_nobody_had() -> None:
    made = {ApiKey.new().text for _ in range(100)}

    assert len(made) == 100
    assert all(ApiKey.parse(text) is not None for text in made)
