"""Proxies and certificates in the environment that no HTTP client can be made with."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from turnwise import ChatAgent, ChatAgentConfig, OpenAIGPTConfig
from turnwise.base import tls
from turnwise.errors import ConfigurationError


@pytest.fixture(autouse=True)
def _read_again() -> Iterator[None]:
    """Certificates are read once in a process; so read them for this test, and again after it."""
    tls._read.cache_clear()
    yield
    tls._read.cache_clear()


@pytest.mark.parametrize("asynchronous", [False, True], ids=["blocking", "async"])
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ALL_PROXY", "socks5://ada:secret@127.0.0.1:1", "socksio"),
        ("HTTP_PROXY", "ftp://proxy.test", "ftp"),
        ("SSL_CERT_FILE", "/no/such/file.pem", "No such file"),
    ],
)
def test_a_setting_that_fits_no_client_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str, asynchronous: bool
) -> None:
    monkeypatch.setenv(name, value)
    # An address and a key of its own, for which no client was made before.
    model = OpenAIGPTConfig(
        chat_model="m", api_base=f"http://127.0.0.1:1/{name}/{asynchronous}", api_key=SecretStr(name)
    )
    agent = ChatAgent(ChatAgentConfig(llm=model))
    with pytest.raises(ConfigurationError) as raised:
        asyncio.run(agent.llm_response_async("hi")) if asynchronous else agent.llm_response("hi")
    told = str(raised.value)
    assert said in told
    assert f"{name}={value.replace('secret', '***')}" in told
