"""Prices and context lengths of models, by the list that genai-prices ships; works offline."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from turnwise.models.tokens.usage import LLMTokenUsage

# USD per million tokens of input and of output.
Prices = tuple[Decimal, Decimal]
_MILLION = Decimal(1_000_000)
# The part of the usual price that providers take for a call in a batch.
_BATCH_SHARE = Decimal("0.5")


def price(
    model: str,
    usage: LLMTokenUsage,
    *,
    provider: str | None = None,
    base_url: str | None = None,
    overrides: Mapping[str, Prices] | None = None,
    batched: bool = False,
) -> Decimal | None:
    """USD for `usage` of `model`, or None where no price is known (never a guessed 0).

    `overrides` come first, by the exact name; cached tokens cost the full input price there. Then the list is asked:
    for `provider` if given, else for the provider that serves `base_url`. A server the list does not know has no
    price, even if its model's name is famous. `batched` calls, which a batch of the provider answers, have the list's
    price for them, or half of the usual one.
    """
    if overrides and model in overrides:
        into, out = overrides[model]
        whole = (into * usage.prompt_tokens + out * usage.completion_tokens) / _MILLION
        return whole * _BATCH_SHARE if batched else whole
    if not provider and not base_url:
        return None
    found = _listed(model, provider, base_url, usage)
    if found is None or not batched:
        return found
    in_batch = _listed(model, provider, base_url, usage, {"processing": "batch"})
    # Where the list has no price for batches it gives the usual one.
    return in_batch if in_batch is not None and in_batch < found else found * _BATCH_SHARE


def _listed(
    model: str,
    provider: str | None,
    base_url: str | None,
    used: LLMTokenUsage,
    context: Mapping[str, str] | None = None,
) -> Decimal | None:
    from genai_prices import Usage, calc_price

    usage = Usage(
        input_tokens=used.prompt_tokens, cache_read_tokens=used.cached_tokens, output_tokens=used.completion_tokens
    )
    try:
        if provider:
            found = calc_price(usage, model_ref=model, provider_id=provider, price_context=context)
        else:
            found = calc_price(usage, model_ref=model, provider_api_url=base_url, price_context=context)
    except LookupError:
        return None
    return found.total_price


def known_context_length(model: str, *, provider: str | None = None, base_url: str | None = None) -> int | None:
    """Tokens that a prompt and its answer may have together, or None where the list does not say.

    The provider is `provider` if given, else the one that serves `base_url`; at a server that the list does not know
    (a proxy), a name of OpenAI's is taken for OpenAI's model.
    """
    from genai_prices.data_snapshot import get_snapshot

    models = get_snapshot()
    for provider_id, url in ((provider, None) if provider else (None, base_url), ("openai", None)):
        try:
            _, found = models.find_provider_model(model, None, provider_id, url)
        except LookupError:
            continue
        return found.context_window
    return None
