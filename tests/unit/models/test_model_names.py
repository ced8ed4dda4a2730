"""Enumerations of model names, and the settings of requests and of Azure that programs give."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic import SecretStr
from tests.support.raw_model import completion, raw_model

from turnwise import (
    AnthropicModel,
    AzureConfig,
    DeepSeekModel,
    GeminiModel,
    LLMConfig,
    LLMMessage,
    MiniMaxModel,
    MockLMConfig,
    ModelName,
    OpenAICallParams,
    OpenAIChatModel,
    OpenAIGPT,
    OpenAIGPTConfig,
    Role,
)
from turnwise.errors import ConfigurationError
from turnwise.models.base import UNLIMITED_CONTEXT
from turnwise.models.create import create_model
from turnwise.models.openai.wire import request_body
from turnwise.models.renaming import renamed
from turnwise.models.tokens.usage import LLMTokenUsage

HELLO = [LLMMessage(role=Role.USER, content="hi")]
Requests = list[tuple[str, dict[str, str]]]
# An experimental model that its provider has taken back.
WITHOUT_PRICE = {GeminiModel.GEMINI_2_PRO}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "address", "model"),
    [
        (OpenAIChatModel.GPT4o, "https://api.openai.com/v1", "gpt-4o"),
        (GeminiModel.GEMINI_2_5_FLASH, "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-2.5-flash"),
        ("gemini/" + GeminiModel.GEMINI_2_FLASH, "https://generativelanguage.googleapis.com/v1beta/openai", None),
        (AnthropicModel.CLAUDE_4_5_SONNET, "https://api.anthropic.com/v1", "claude-sonnet-4-5"),
        (DeepSeekModel.DEEPSEEK_R1, "https://api.deepseek.com/v1", "deepseek-reasoner"),
        (DeepSeekModel.OPENROUTER_DEEPSEEK_R1, "https://openrouter.ai/api/v1", "deepseek/deepseek-r1"),
        (MiniMaxModel.MINIMAX_M2_7, "https://api.minimax.io/v1", "MiniMax-M2.7"),
    ],
)
def test_a_member_stands_for_the_model_at_its_own_provider(name: str, address: str, model: str | None) -> None:
    config = OpenAIGPTConfig(chat_model=name)

    assert (config.base_url, config.served_model) == (address, model or "gemini-2.0-flash")


class GeminiByDefault(OpenAIGPTConfig):
    chat_model: str = GeminiModel.GEMINI_2_5_FLASH


def assigned() -> OpenAIGPTConfig:
    config = OpenAIGPTConfig()
    config.chat_model = GeminiModel.GEMINI_2_5_FLASH
    return config


@pytest.mark.parametrize(
    "config",
    [
        GeminiByDefault(),
        assigned(),
        OpenAIGPTConfig().model_copy(update={"chat_model": GeminiModel.GEMINI_2_5_FLASH}),
        LLMConfig(chat_model=GeminiModel.GEMINI_2_5_FLASH),
        renamed(OpenAIGPTConfig(), GeminiModel.GEMINI_2_5_FLASH),
    ],
    ids=["default", "assigned", "copied", "general", "renamed"],
)
def test_a_member_stands_for_its_model_however_it_gets_there(config: LLMConfig) -> None:
    model = create_model(config)
    assert isinstance(model, OpenAIGPT)

    assert model.config.base_url == "https://generativelanguage.googleapis.com/v1beta/openai"
    assert model.config.served_model == "gemini-2.5-flash"
    assert model.price(LLMTokenUsage(prompt_tokens=1000)) == Decimal("0.0003")


def test_a_member_of_another_provider_takes_no_key_along() -> None:
    other = renamed(OpenAIGPTConfig(api_key=SecretStr("of-openai")), AnthropicModel.CLAUDE_4_5_HAIKU)

    assert isinstance(other, OpenAIGPTConfig)
    assert other.api_key is None


def test_at_an_address_of_its_own_a_member_is_its_bare_name() -> None:
    config = OpenAIGPTConfig(chat_model=GeminiModel.GEMINI_2_5_PRO, api_base="http://localhost:4000/v1")

    assert config.served_model == "gemini-2.5-pro"
    assert f"{GeminiModel.GEMINI_2_5_PRO}" == "gemini-2.5-pro"


def test_a_model_without_a_server_takes_a_member_too() -> None:
    assert MockLMConfig(chat_model=OpenAIChatModel.GPT4o).chat_model == "gpt-4o"


@pytest.mark.parametrize("name", [member for kind in ModelName.__subclasses__() for member in kind])
def test_the_price_and_the_context_of_each_member_are_known(name: ModelName) -> None:
    model = create_model(OpenAIGPTConfig(chat_model=name))

    assert model is not None
    assert (model.price(LLMTokenUsage(prompt_tokens=1000)) is None) == (name in WITHOUT_PRICE)
    if name not in WITHOUT_PRICE and not name.endswith("-pro") and "-pro-" not in name:
        assert model.chat_context_length() < UNLIMITED_CONTEXT


def test_parameters_of_a_call_are_fields_of_its_request() -> None:
    more = {"include_reasoning": True}
    params = OpenAICallParams(reasoning_effort="low", temperature=0.5, max_tokens=77, extra_body=more)
    config = OpenAIGPTConfig(chat_model="gpt-4o", params=params, temperature=0.1)
    body = request_body(config, HELLO, config.max_output_tokens, None)

    assert (body["reasoning_effort"], body["temperature"], body["include_reasoning"]) == ("low", 0.5, True)
    assert body["max_completion_tokens"] == 77
    assert not {"max_tokens", "extra_body"} & set(body)


def test_a_usage_tells_itself() -> None:
    usage = LLMTokenUsage(prompt_tokens=12, cached_tokens=2, completion_tokens=3, cost=Decimal("0.00015"), calls=1)

    assert str(usage) == "Tokens = (prompt 12, cached 2, completion 3), Cost=0.00015, Calls=1"
    assert "Cost=unknown" in str(LLMTokenUsage(cost=None))


def asked_of_azure(requests: Requests, bodies: list[dict[str, Any]], **settings: Any) -> str:
    def answer(body: dict[str, Any]) -> Any:
        bodies.append(body)
        return completion({"role": "assistant", "content": "hello"})

    with raw_model(answer, requests) as url:
        config = AzureConfig(api_base=url.removesuffix("/v1"), api_key=SecretStr("secret-1"), **settings)
        model = create_model(config)
        assert model is not None
        return model.chat(HELLO, 10).message or ""


def test_azure_is_asked_at_its_endpoint_for_the_deployment() -> None:
    requests: Requests = []
    bodies: list[dict[str, Any]] = []

    assert asked_of_azure(requests, bodies, chat_model="gpt-4o", deployment_name="ours") == "hello"
    path, headers = requests[0]
    assert (path, bodies[0]["model"]) == ("/openai/v1/chat/completions", "ours")
    assert headers["authorization"] == "Bearer secret-1"


def test_a_dated_version_of_azures_api_has_paths_of_its_own() -> None:
    requests: Requests = []

    asked_of_azure(requests, [], chat_model="gpt-4o", deployment_name="ours", api_version="2024-10-21")
    path, headers = requests[0]
    assert path == "/openai/deployments/ours/chat/completions?api-version=2024-10-21"
    assert headers["api-key"] == "secret-1"


def test_azure_reads_its_settings_out_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {
        "AZURE_OPENAI_ENDPOINT": "https://ours.openai.azure.com/",
        "AZURE_OPENAI_API_KEY": "secret-2",
        "AZURE_OPENAI_DEPLOYMENT_NAME": "ours",
        "AZURE_OPENAI_CHAT_MODEL": "gpt-4o",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    config = AzureConfig()

    assert (config.base_url, config.key) == ("https://ours.openai.azure.com/openai/v1", "secret-2")
    assert (config.served_model, config.known_model) == ("ours", "gpt-4o")
    assert AzureConfig(model_name="gpt-4.1").chat_model == "gpt-4.1"


def test_a_deployment_of_any_name_has_the_price_and_context_of_its_model() -> None:
    model = create_model(AzureConfig(chat_model="gpt-4o", deployment_name="ours", api_base="https://a.example"))

    assert model is not None
    assert (model.price(LLMTokenUsage(prompt_tokens=1000)) or 0) > 0
    assert model.chat_context_length() == 128_000


def test_a_program_may_bring_a_client_for_azure() -> None:
    import openai

    requests: Requests = []
    with raw_model(lambda _: completion({"role": "assistant", "content": "hello"}), requests) as url:
        made: list[openai.AzureOpenAI] = []

        def client() -> openai.AzureOpenAI:
            made.append(
                openai.AzureOpenAI(
                    api_version="2024-10-21",
                    azure_endpoint=url.removesuffix("/v1"),
                    azure_ad_token_provider=lambda: "token-3",
                )
            )
            return made[0]

        model = create_model(AzureConfig(chat_model="gpt-4o", azure_openai_client_provider=client))
        assert model is not None
        answers = [model.chat(HELLO, 10).message for _ in range(2)]
        made[0].close()

    assert (answers, len(made)) == (["hello", "hello"], 1)
    path, headers = requests[0]
    assert path.startswith("/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21")
    assert headers["authorization"] == "Bearer token-3"


def test_a_client_of_the_other_kind_is_asked_for() -> None:
    config = AzureConfig(chat_model="gpt-4o", azure_openai_client_provider=object)
    with pytest.raises(ConfigurationError, match="azure_openai_async_client_provider"):
        config.own_client(awaited=True)


def test_azure_without_an_endpoint_says_what_to_set() -> None:
    with pytest.raises(ConfigurationError, match="AZURE_OPENAI_ENDPOINT"):
        AzureConfig(chat_model="gpt-4o").base_url  # noqa: B018
