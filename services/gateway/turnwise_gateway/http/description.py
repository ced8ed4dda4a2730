"""The API's description, with what holds for all routes: how errors look, and who is let in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from turnwise_gateway.http import idempotency
from turnwise_gateway.http.problem import Problem, problems
from turnwise_gateway.openai_door.errors import PATHS

# What the door may answer to a request that needs a caller, and where no one has to say who he is.
_GUARDED = (401, 403, 429, 503)
_LOCAL = (403, 429, 503)


def describe(api: FastAPI, *, guarded: bool) -> None:
    """Complete the description that FastAPI makes of the routes; `guarded`: callers have to say who they are."""
    made = api.openapi

    def described() -> dict[str, Any]:
        if api.openapi_schema is not None:
            return api.openapi_schema
        document = made()
        _add_problems(document)
        for path, method, operation in _operations(document):
            if method.upper() in idempotency.METHODS:
                _add_key(operation)
            _add_answers(operation, guarded)
            if PATHS.fullmatch(path):
                _in_openai_form(operation)
        if not guarded:
            document["components"].pop("securitySchemes", None)
        return document

    api.openapi = described  # type: ignore[method-assign]  # the documented way to change it


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _in_openai_form(operation: dict[str, Any]) -> None:
    """Have the operation's errors in the form that OpenAI's clients read; those of a body are 400."""
    answers = operation["responses"]
    answers.pop("422", None)
    told = {"application/json": {"schema": {"$ref": "#/components/schemas/DoorErrorBody"}}}
    for status, answer in answers.items():
        if status >= "400":
            answer["content"] = told


def _add_problems(document: dict[str, Any]) -> None:
    """Add the schema of a problem, which the routes' `responses` point at."""
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(schema.pop("$defs", {}))
    schemas["Problem"] = schema
    # FastAPI's own form of a validation error, which this API never sends.
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)


def _add_key(operation: dict[str, Any]) -> None:
    """Say that the operation takes an idempotency key, as all do that change something with POST or PATCH."""
    named = operation.setdefault("parameters", [])
    if not any(one["name"] == idempotency.KEY.lower() for one in named):
        named.append(idempotency.parameter())
    for status, answer in problems(409, 422).items():
        operation["responses"][str(status)] = answer


def _add_answers(operation: dict[str, Any], guarded: bool) -> None:
    answers = operation["responses"]
    if "application/json" in answers.get("422", {}).get("content", {}):
        del answers["422"]
    needs_caller = "security" in operation
    if not guarded:
        operation.pop("security", None)
    statuses = (_GUARDED if guarded else _LOCAL) if needs_caller else (() if guarded else (403,))
    for status, answer in problems(*statuses).items():
        answers.setdefault(str(status), answer)
    operation["responses"] = dict(sorted(answers.items()))
