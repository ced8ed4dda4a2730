"""Settings of models that Azure serves."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field, PrivateAttr, model_validator

from turnwise.errors import ConfigurationError
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.providers import PROVIDERS, ModelRoute

_AZURE = PROVIDERS["azure"]


def _variable(name: str) -> Callable[[], str | None]:
    return lambda: os.environ.get(f"AZURE_OPENAI_{name}") or None


class AzureConfig(OpenAIGPTConfig):
    """A model that Azure OpenAI serves. Settings that are not given come from the environment.

    - `chat_model`: the model's name, by which its price and its context are known; AZURE_OPENAI_CHAT_MODEL.
      `model_name` is an older name of the same setting.
    - `deployment_name`: the name of the deployment, where it is not the model's; AZURE_OPENAI_DEPLOYMENT_NAME.
    - `api_base`: the resource's endpoint, `https://NAME.openai.azure.com`; AZURE_OPENAI_ENDPOINT or
      AZURE_OPENAI_API_BASE. `api_key`: AZURE_OPENAI_API_KEY.
    - `api_version`: a dated version of Azure's own API, such as `2024-10-21`; AZURE_OPENAI_API_VERSION. None for the
      API that needs none (`/openai/v1`).
    - `azure_openai_client_provider` and `azure_openai_async_client_provider`: functions that return a client of the
      `openai` library, for other ways to authenticate; called once. Synchronous runs need the first, asynchronous
      runs the second. Address, key, headers and time-out are then those of that client.

    The other settings are those of `OpenAIGPTConfig`. Raises `ConfigurationError` for a setting that does not exist,
    and, when the model is first asked, without an endpoint or a key.
    """

    type: str = "azure"
    chat_model: str = Field(default_factory=lambda: _variable("CHAT_MODEL")() or "gpt-4.1-mini")
    model_name: str = ""
    deployment_name: str | None = Field(default_factory=_variable("DEPLOYMENT_NAME"))
    api_version: str | None = Field(default_factory=_variable("API_VERSION"))
    provider: str | None = "azure"
    azure_openai_client_provider: Callable[[], Any] | None = None
    azure_openai_async_client_provider: Callable[[], Any] | None = None
    _clients: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _older_name(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and given.get("model_name") and not given.get("chat_model"):
            return {**given, "chat_model": given["model_name"]}
        return given

    @property
    def route(self) -> ModelRoute:
        """The deployment's address; raises `ConfigurationError` without an endpoint."""
        name = self.chat_model.removeprefix("azure/")
        return ModelRoute(self._address(name), self.deployment_name or name, _AZURE)

    @property
    def known_model(self) -> str:
        """The model's name, which the deployment's need not be."""
        return self.chat_model.removeprefix("azure/")

    @property
    def request_path(self) -> str:
        """Return where requests go, below the address."""
        path = super().request_path
        return f"{path}?api-version={self.api_version}" if self._dated else path

    @property
    def request_headers(self) -> dict[str, str]:
        """Headers of each request; Azure's own API takes the key in one."""
        return {**({"api-key": self.key} if self._dated and self.key else {}), **self.headers}

    def own_client(self, *, awaited: bool) -> Any | None:
        """Return the program's own client, None if it brings none.

        Raises `ConfigurationError` if it brings only one of the other kind.
        """
        functions = {True: self.azure_openai_async_client_provider, False: self.azure_openai_client_provider}
        make, kind = functions[awaited], "asynchronous" if awaited else "synchronous"
        if make is None:
            if functions[not awaited] is None:
                return None
            name = "azure_openai_async_client_provider" if awaited else "azure_openai_client_provider"
            raise ConfigurationError(
                f"AzureConfig has a client for calls of the other kind only, and this call is {kind}; give {name}, too"
            )
        if kind not in self._clients:
            self._clients[kind] = make()
        return self._clients[kind]

    @property
    def needs_key(self) -> bool:
        """Return whether a key has to be set; the program's own client has what it needs."""
        return not self._brings_clients and super().needs_key

    @property
    def bound_to_a_deployment(self) -> bool:
        """Return whether the program's own client asks one deployment, whatever model a request names."""
        return self._brings_clients and "/deployments/" in self.base_url

    @property
    def _brings_clients(self) -> bool:
        return bool(self.azure_openai_client_provider or self.azure_openai_async_client_provider)

    @property
    def _dated(self) -> bool:
        # The client of the `openai` library knows its version, and where deployments are.
        return bool(self.api_version) and not self._brings_clients

    def _address(self, model: str) -> str:
        if self._brings_clients:
            client = self.own_client(awaited=self.azure_openai_client_provider is None)
            return str(client.base_url)  # type: ignore[union-attr]  # there is one, as it brings clients
        given = self.api_base or next(filter(None, map(os.environ.get, _AZURE.address_variables)), "")
        if not given:
            raise ConfigurationError(
                f"the model {self.chat_model!r} of Azure has no address: set {_AZURE.address_variables[0]} or the "
                "configuration's `api_base` to the resource's endpoint, https://NAME.openai.azure.com"
            )
        endpoint = given.rstrip("/")
        if self._dated:
            return f"{endpoint}/openai/deployments/{self.deployment_name or model}"
        return endpoint if endpoint.endswith("/v1") else endpoint + _AZURE.path
