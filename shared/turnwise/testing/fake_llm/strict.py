"""The parts of a strict schema of `response_format` that OpenAI refuses; the fake refuses them too, so that tests see
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnwise.testing.fake_llm.request import ChatRequest

_UNKNOWN = {
    "allOf", "oneOf", "not", "if", "default", "const", "minLength", "maxLength", "uniqueItems", "prefixItems",
    "patternProperties", "propertyNames", "dependentRequired", "discriminator", "examples",
}  # fmt: skip


def schema_faults(request: ChatRequest) -> list[str]:
    """Return what is wrong with the request's JSON schema; nothing for one that is not strict, or for none."""
    wanted = (request.response_format or {}).get("json_schema")
    if wanted is None:
        return []
    if not wanted.get("name") or not isinstance(wanted.get("schema"), dict):
        return ["response_format: json_schema needs a name and a schema"]
    schema = wanted["schema"]
    faults = list(_faults(schema, "schema")) if wanted.get("strict") else []
    if schema.get("type") != "object":
        faults.append("schema: its type must be object")
    return [f"Invalid schema for response_format: {fault}" for fault in faults]


def _faults(node: dict[str, Any], place: str) -> Iterator[str]:
    for word in sorted(_UNKNOWN & set(node)):
        yield f"{place}: {word} is not permitted"
    if "$ref" in node and len(node) > 1:
        yield f"{place}: $ref cannot have keywords beside it"
    if not {"type", "enum", "anyOf", "$ref"} & set(node):
        yield f"{place}: needs a type"
    if node.get("type") == "object":
        if node.get("additionalProperties") is not False:
            yield f"{place}: additionalProperties must be false"
        if set(node.get("required", ())) != set(node.get("properties", {})):
            yield f"{place}: required must list every property"
    for name, child in _children(node):
        yield from _faults(child, f"{place}.{name}")


def _children(node: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for group in ("properties", "$defs"):
        yield from node.get(group, {}).items()
    for number, child in enumerate(node.get("anyOf", ())):
        yield str(number), child
    if "items" in node:
        yield "items", node["items"]
