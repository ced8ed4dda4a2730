"""The client of `/v1/embeddings`; import it where it is used, as it loads `openai`."""

from __future__ import annotations

import base64
import json
import sys
from array import array
from collections.abc import Sequence
from typing import Any

import httpx2

from turnwise.errors import ModelUnavailableError
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.connections import process_connections
from turnwise.models.openai.errors import told_as_model_errors
from turnwise.models.openai.hints import address_hint
from turnwise.models.openai.wire import plain_json
from turnwise.models.tokens.usage import LLMTokenUsage, reported

_PATH = "/embeddings"


def post(config: OpenAIGPTConfig, body: dict[str, Any]) -> object:
    """The server's answer to one request, as plain JSON or as text; raises `ModelError`, never retries."""
    with told_as_model_errors(config), process_connections.client(config) as client:
        # Not as JSON: the library raises the decoder's own errors for a body that is none.
        return plain_json(client.post(_PATH, cast_to=httpx2.Response, body=body))


async def post_async(config: OpenAIGPTConfig, body: dict[str, Any]) -> object:
    """The same, without blocking the event loop."""
    with told_as_model_errors(config):
        async with process_connections.async_client(config) as client:
            return plain_json(await client.post(_PATH, cast_to=httpx2.Response, body=body))


def parse_embeddings(
    answer: object, texts: int, config: OpenAIGPTConfig
) -> tuple[list[Sequence[float]], LLMTokenUsage]:
    """The vectors in the order of the texts, and the usage without its cost; raises `ModelUnavailableError`."""
    try:
        if not isinstance(answer, dict):
            raise TypeError(f"a JSON {type(answer).__name__}")
        data = sorted(answer["data"], key=lambda item: item.get("index", 0))
        if len(data) != texts:
            raise ValueError(f"{len(data)} vectors for {texts} texts")
        return [_vector(item["embedding"]) for item in data], reported(answer.get("usage"))
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        found = json.dumps(answer, default=str)[:300]
        raise ModelUnavailableError(
            f"the model server's answer holds no embeddings ({type(error).__name__}: {error}): {found}; check "
            f"{address_hint(config)}, which usually ends with /v1, and that the model makes embeddings",
            may_have_cost=True,
            outage=False,
        ) from error


def _vector(given: object) -> array[float]:
    """A vector as numbers, whether the server was asked for base64 and heard it or not."""
    if not isinstance(given, str):
        if not isinstance(given, list):
            raise TypeError(f"an embedding that is a {type(given).__name__}")
        return array("f", given)
    vector = array("f", base64.b64decode(given, validate=True))
    if sys.byteorder == "big":  # the API sends little-endian numbers
        vector.byteswap()
    return vector
