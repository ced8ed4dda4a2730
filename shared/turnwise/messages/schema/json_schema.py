"""JSON schemas as function-calling APIs want them."""

from __future__ import annotations

from typing import Any


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
