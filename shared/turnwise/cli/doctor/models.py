"""The models that the application's agents call: reachable, priced, limited?"""

from __future__ import annotations

from collections.abc import Iterator

from turnwise.app import App
from turnwise.cli.doctor.finding import Finding, fault, note, ok, warning
from turnwise.errors import ConfigurationError
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.hints import address_hint, key_hint, missing_key_hint
from turnwise.models.tokens.price_list import price
from turnwise.models.tokens.usage import LLMTokenUsage
from turnwise.processes.settings import ServiceSettings

_SECONDS = 5.0


def check(app: App, settings: ServiceSettings) -> Iterator[Finding]:
    """Check each model and each server once; asks a server for its list of models, which costs nothing."""
    found: dict[tuple[str, str], OpenAIGPTConfig] = {}
    for config in _configs(app):
        try:
            found[config.chat_model, config.base_url] = config
        except ConfigurationError as error:
            yield fault(f"model {config.chat_model}", str(error), "correct the name, or set what it needs")
    if not found:
        yield note("models", "no agent calls a model over HTTP")
        return
    for (name, url), config in sorted(found.items(), key=lambda item: item[0]):
        yield ok(f"model {name}", f"it stands for {config.served_model} at {url}")
    for url in sorted({url for _, url in found}):
        yield _server(next(config for (_, at), config in found.items() if at == url))
    for (name, _), config in sorted(found.items(), key=lambda item: item[0]):
        yield _price(name, config, settings)
        yield _limits(name, config)


def _configs(app: App) -> Iterator[OpenAIGPTConfig]:
    for task in app.tasks:
        for agent in app.tree(task).agents.values():
            config = getattr(agent.config, "llm", None)
            if isinstance(config, OpenAIGPTConfig):
                yield config


def _server(config: OpenAIGPTConfig) -> Finding:
    import httpx2

    check = f"server {config.base_url}"
    if config.needs_key and not config.key:
        return fault(check, "no API key is set, so its models cannot be called", missing_key_hint(config))
    url = config.base_url.rstrip("/") + "/models"
    headers = {**config.headers, **({"Authorization": f"Bearer {config.key}"} if config.key else {})}
    try:
        status = httpx2.get(url, headers=headers, timeout=_SECONDS).status_code
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return fault(
            check,
            f"it does not answer ({type(error).__name__}: {error})",
            f"correct {address_hint(config)}, or let this machine reach it",
        )
    if status in (401, 403):
        if not config.key:
            return fault(check, f"it wants an API key ({status}), and none is set", missing_key_hint(config))
        return fault(check, f"it refuses the API key ({status})", f"correct {key_hint(config)}")
    if status >= 500:
        return warning(check, f"it answers, but with {status}", "look at the provider's status")
    return ok(check, "it answers" + ("" if status == 200 else f" ({status} to a question for its models)"))


def _price(name: str, config: OpenAIGPTConfig, settings: ServiceSettings) -> Finding:
    check = f"price of {name}"
    own = config.input_price is not None and config.output_price is not None
    usage = LLMTokenUsage(prompt_tokens=1000, completion_tokens=1000)
    if own or price(config.served_model, usage, provider=config.provider, base_url=config.base_url) is not None:
        return ok(check, "known")
    mend = "give its config `input_price` and `output_price`, or the `provider` whose prices it has"
    limits = (
        settings.max_cost,
        settings.session_max_cost,
        settings.tenant_day_max_cost,
        settings.tenant_month_max_cost,
    )
    if any(limit is not None for limit in limits):
        return fault(check, "unknown, and a limit of cost is set, so its calls are refused", mend)
    return warning(
        check, "unknown, so its calls count as unpriced, and a run with a limit of cost is refused them", mend
    )


def _limits(name: str, config: OpenAIGPTConfig) -> Finding:
    caps = config.caps
    check = f"limits of {name}"
    given = (caps.requests, "requests a minute"), (caps.tokens, "tokens a minute"), (caps.concurrency, "calls at once")
    told = ", ".join(f"{value} {what}" for value, what in given if value is not None)
    if told:
        return ok(check, told)
    return note(check, "none are configured; what the provider announces holds")
