"""How long a model's context is, by the list that genai-prices ships; works offline."""

from __future__ import annotations


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
