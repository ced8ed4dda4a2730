"""Another model than the application's, whose name a caller or a model gave."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr

from turnwise.errors import ConfigurationError
from turnwise.models.base import LLMConfig
from turnwise.models.create import create_model
from turnwise.models.language_model import LanguageModel
from turnwise.models.openai.azure_config import AzureConfig
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.providers import named_provider, refuse_address


def other_model(model: LanguageModel, name: str) -> LanguageModel:
    """Return a client like `model` for the model `name`, with a configuration as `renamed` makes it.

    It starts from the model that is asked, since a program may give an agent another one than its configuration names.
    Raises `ConfigurationError` for a name that cannot be asked, and for a model of the program's own class, which only
    the program can make.
    """
    before = model.made_by or model.config
    config = renamed(before, name)
    if config is before:
        return model
    own = ConfigurationError(
        f"this agent's model is a {type(model).__name__}, a class of the program's own that cannot be made for another "
        f"model, {name!r}; leave `model` out"
    )
    try:
        made = create_model(config)
    except ConfigurationError as error:
        raise own from error
    if made is None or type(made) is not type(model):
        raise own
    return made


def renamed(config: LLMConfig, name: str) -> LLMConfig:
    """Return the configuration with another model, as a caller named it.

    Prices that the configuration names are of its own model, so they do not go along. What it has for its own server,
    such as a key, goes to no other. Raises `ConfigurationError` for a name that is an address, and for another
    provider's model where the configuration is Azure's.
    """
    if name == config.chat_model:
        return config
    refuse_address(name)
    other: dict[str, Any] = {
        field: None for field in ("input_price", "output_price") if field in type(config).model_fields
    }
    if isinstance(config, AzureConfig):
        name = _azure_name(config, name)
        # The deployment is of the configuration's model. The other one is asked by its own name.
        other["deployment_name"] = None
    elif isinstance(config, OpenAIGPTConfig):
        other |= _server_fields(config, name)
    return config.model_copy(update={"chat_model": name, **other})


def at_the_same_provider(config: LLMConfig, name: str) -> bool:
    """Return whether the model `name` would be asked where the configuration's own is.

    Raises `ConfigurationError` for a name that is an address, or of an unknown provider.
    """
    refuse_address(name)
    if isinstance(config, AzureConfig):
        return _may_be_azures(name)
    if not isinstance(config, OpenAIGPTConfig) or config.api_base:
        return True
    return named_provider(name, None) is named_provider(config.chat_model, None)


def _server_fields(config: OpenAIGPTConfig, name: str) -> dict[str, Any]:
    """Return the fields about a server that are others for the model `name`."""
    if config.api_base:
        # The server stays the application's, and so does its key, which is no other provider's for a prefix in `name`.
        return {"api_key": SecretStr(config.key)} if config.key else {}
    # By provider, not by address, which may be set only where models are called.
    if named_provider(name, None) is named_provider(config.chat_model, None):
        return {}
    return {"api_key": None, "headers": {}, "organization": None, "provider": None}


def _may_be_azures(name: str) -> bool:
    # Names of deployments have no slash, so what stands before one is a provider.
    return "/" not in name.removeprefix("azure/")


def _azure_name(config: AzureConfig, name: str) -> str:
    """Return the model's name at Azure; raises `ConfigurationError` for one that is not asked there."""
    if not _may_be_azures(name):
        raise ConfigurationError(f"the model {name!r} is not at Azure, as {config.chat_model!r} is; name one that is")
    if config.bound_to_a_deployment:
        raise ConfigurationError(
            f"the client that serves {config.chat_model!r} at Azure is bound to one deployment and cannot ask for "
            f"{name!r}; make the client without `azure_deployment`, or name no other model"
        )
    return name.removeprefix("azure/")
