"""JSON schemas of tools for models, also those that servers enforce strictly."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

# Rules that are checked when the answer is read, not while it is written.
_DROPPED = {"default", "discriminator", "examples", "minLength", "maxLength", "uniqueItems"}
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
_REFUSED = {"prefixItems", "patternProperties", "propertyNames", "not", "if", "dependentRequired"}
# A node without any of these takes any value.
_TELLING = {"type", "enum", "anyOf", "$ref"}


class _Unsupported(Exception):
    """The schema allows what strict decoding cannot."""


def strict_schema(schema: Json) -> Json | None:
    """The schema with every object closed and every field required; None where it cannot be made strict.

    A field with a default is then written out by the model, and constraints that decoders do not know are left out.
    Objects of any keys (`dict`) and values of any type cannot be strict.
    """
    try:
        definitions = {name: _node(node) for name, node in schema.get("$defs", {}).items()}
        made = _node({key: value for key, value in schema.items() if key != "$defs"})
    except _Unsupported:
        return None
    return made | {"$defs": definitions} if definitions else made


def _node(node: Json) -> Json:
    if "const" in node:
        node = {**node, "enum": [node["const"]]}
    if len(node.get("allOf", ())) == 1:
        node = {**node["allOf"][0], **{key: value for key, value in node.items() if key != "allOf"}}
    if "oneOf" in node:
        node = {**node, "anyOf": node["oneOf"]}
    plain = {key: value for key, value in node.items() if key not in _DROPPED | {"const", "oneOf", "allOf"}}
    if ("allOf" in node and len(node["allOf"]) > 1) or _REFUSED & set(plain) or not _TELLING & set(plain):
        raise _Unsupported
    if plain.get("format", "date") not in _FORMATS:
        del plain["format"]
    if "$ref" in plain:
        return _reference(plain)
    if "anyOf" in plain:
        plain["anyOf"] = [_node(item) for item in plain["anyOf"]]
    if "items" in plain:
        plain["items"] = _node(plain["items"])
    elif plain.get("type") == "array":
        raise _Unsupported
    return _closed(plain) if plain.get("type") == "object" else plain


def _reference(node: Json) -> Json:
    """A reference stands alone, so what is said beside it goes around it."""
    alone = {"$ref": node["$ref"]}
    return {"anyOf": [alone], "description": node["description"]} if "description" in node else alone


def _closed(node: Json) -> Json:
    if "properties" not in node or node.get("additionalProperties", False) is not False:
        raise _Unsupported
    properties = {name: _node(value) for name, value in node["properties"].items()}
    return {**node, "properties": properties, "required": list(properties), "additionalProperties": False}


def without_titles(schema: Any) -> Any:
    """The schema without the `title`s that pydantic adds (a property called title stays)."""
    if isinstance(schema, list):
        return [without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: (
            {name: without_titles(value) for name, value in item.items()}
            if key in ("properties", "$defs") and isinstance(item, dict)
            else without_titles(item)
        )
        for key, item in schema.items()
        if not (key == "title" and isinstance(item, str))
    }


def clean_schema(schema: dict[str, Any], *, hidden: set[str], defaults: bool) -> dict[str, Any]:
    """Parameters for a function from a pydantic schema: no titles, no `hidden` fields.

    Without `defaults`, fields with a default are left out. Definitions stay only if something refers to them.
    """
    plain = without_titles(schema)
    if "$ref" in plain:  # of a model that refers to itself
        plain = {**plain["$defs"][plain["$ref"].removeprefix("#/$defs/")], "$defs": plain["$defs"]}
    required = [name for name in plain.get("required", []) if name not in hidden]
    properties = {
        name: value
        for name, value in plain.get("properties", {}).items()
        if name not in hidden and (defaults or name in required)
    }
    parameters: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    definitions = plain.get("$defs", {})
    kept = _referred(properties, definitions)
    if kept:
        parameters["$defs"] = {name: definitions[name] for name in definitions if name in kept}
    return parameters


def _referred(node: Any, definitions: dict[str, Any]) -> set[str]:
    """Names of the definitions that `node` refers to, also through each other."""
    found: set[str] = set()
    queue = [node]
    while queue:
        item = queue.pop()
        if isinstance(item, list):
            queue.extend(item)
        elif isinstance(item, dict):
            name = str(item.get("$ref", "")).removeprefix("#/$defs/")
            if name in definitions and name not in found:
                found.add(name)
                queue.append(definitions[name])
            queue.extend(item.values())
    return found
