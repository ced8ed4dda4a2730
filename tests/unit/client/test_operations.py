"""The clients have every operation of the gateway, with all that it takes."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, get_type_hints

import pytest

from turnwise import App
from turnwise.bus.in_process import InProcessBus
from turnwise.client import AsyncClient, Client
from turnwise.client.event_reading import EventReading
from turnwise.client.operations import access, batches, fleet, people, runs, schedules, webhooks
from turnwise.client.request import Request
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise_gateway.api import create_api

Json = dict[str, Any]
MODULES = (runs, batches, schedules, people, fleet, access, webhooks)
# What a parameter of a query or a header is called in Python.
_RENAMED = {"last-event-id": "after", "idempotency-key": "idempotency_key", "next": "ahead"}


def of(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, function in vars(module).items():
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_"):
            yield name, function


OPERATIONS = dict(operation for module in MODULES for operation in of(module))


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Json]:
    database = Database(f"sqlite:///{tmp_path_factory.mktemp('record') / 'runs.db'}")
    yield create_api(Store(database, lease_seconds=5.0), InProcessBus(), App("any"), load_settings()).openapi()
    database.close()


def described(document: Json, request: Any) -> tuple[str, str, Json]:
    """Return method, path and description of the operation that the request is for."""
    if isinstance(request, EventReading):
        method, path = request.arguments["method"], request.arguments["url"]
    else:
        method, path = request.method, request.path
    found = [
        (template.count("{"), template)
        for template, operations in document["paths"].items()
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path) and method.lower() in operations
    ]
    assert found, f"the gateway has no {method} {path}"
    _, template = min(found)  # /v1/runs/cancel goes before /v1/runs/{run_id}
    return method, template, document["paths"][template][method.lower()]


# A browser's alone: a program sends its key with each request, and a cookie would only be one more place to keep it.
_OF_BROWSERS = {("PUT", "/v1/sign-in"), ("DELETE", "/v1/sign-in")}
# Their clients are OpenAI's.
_OF_OPENAI = {
    ("GET", "/v1/models"),
    ("GET", "/v1/models/{model}"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/responses"),
}
# Shorter forms of other operations, which have all that the gateway takes.
_SHORTER = {"inbox": "inbox_page"}
# What is given for parameters that are not texts.
_GIVEN: Json = {
    "at": 1,
    "scopes": ["runs:read"],
    "filter": {},
    "runs": [{"task": "desk", "message": "hello"}],
    "first": 1,
    "items": [{"message": "hello"}],
}


def called(function: Callable[..., Any]) -> Any:
    """Return the operation's request, with something for each parameter that has to be given."""
    needed = {
        name: _GIVEN.get(name, "one")
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is inspect.Parameter.empty
    }
    return function(**needed)


def fields(document: Json, schema: Json, taken: set[str]) -> set[str]:
    """Return the names of the fields of a body; those of its limits where `limits` is not taken as a whole."""
    for part in (schema, *schema.get("anyOf", ()), *schema.get("allOf", ())):
        if "$ref" in part:
            schema = document["components"]["schemas"][part["$ref"].rpartition("/")[2]]
    names: set[str] = set()
    for name, inner in schema["properties"].items():
        names |= fields(document, inner, taken) if name == "limits" and name not in taken else {name}
    return names


def test_every_operation_of_the_gateway_is_an_operation_of_the_clients(document: Json) -> None:
    ours = {described(document, called(function))[:2] for function in OPERATIONS.values()}

    theirs = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert ours == theirs - _OF_BROWSERS - _OF_OPENAI
    assert theirs > _OF_BROWSERS | _OF_OPENAI
    assert len(ours) == len(OPERATIONS) - len(_SHORTER)


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - _SHORTER.keys()))
def test_an_operation_takes_all_that_the_gateway_takes(document: Json, name: str) -> None:
    function = OPERATIONS[name]
    _, template, operation = described(document, called(function))

    taken = set(inspect.signature(function).parameters)

    wanted = {_RENAMED.get(one["name"], one["name"]) for one in operation.get("parameters", ()) if one["in"] != "path"}
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        wanted |= fields(document, body, taken)
    assert wanted <= taken
    more = taken - wanted - {"patience"}
    assert len(more) == template.count("{"), "the rest are the parts of the path"


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_returns_the_model_that_the_gateway_describes(document: Json, name: str) -> None:
    function = OPERATIONS[name]
    _, _, operation = described(document, called(function))
    returned = get_type_hints(function)["return"]
    answers = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
    [content] = [answer.get("content", {}) for answer in answers]
    lines = content.get("application/jsonl")
    schema = (lines or content.get("application/json", {})).get("schema", {})
    model = schema.get("$ref", "").rpartition("/")[2]

    shown = str(returned).replace("list[", "Page[")
    if lines is not None:
        assert re.search(rf"Page\[[\w.]*{model}\]", shown)
    elif model.startswith("Page_Annotated_"):
        assert "Page[" in shown and "QuestionView" in shown
    elif model.startswith("Page_"):
        assert re.search(rf"Page\[[\w.]*{model.removeprefix('Page_').removesuffix('_')}\]", shown)
    elif model:
        assert re.search(rf"Request\[[\w.]*\.{model}\]", shown)
    else:
        assert returned in (EventReading, Request[str], Request[None])


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_a_client_has_a_method_for_each_operation(client: type) -> None:
    for name, function in OPERATIONS.items():
        method = getattr(client, name)
        assert method.__doc__ == function.__doc__
        own, described = inspect.signature(method).parameters, inspect.signature(function).parameters
        assert list(own.values())[1:] == list(described.values())
        assert "Request[" not in str(inspect.signature(method).return_annotation)


def test_both_clients_have_the_same_methods() -> None:
    sync, awaited = ({name for name in dir(client) if not name.startswith("_")} for client in (Client, AsyncClient))

    assert sync == awaited


def test_an_operation_says_the_same_in_any_client() -> None:
    request = runs.submit("desk", "hello", wait=2, watch=True, session_id="s")

    assert (request.method, request.path, request.params) == ("POST", "/v1/runs", {"wait": 2, "watch": "true"})
    assert json.loads(json.dumps(request.body)) == {
        "task": "desk",
        "message": "hello",
        "limits": {},
        "priority": 0,
        "tags": [],
        "metadata": {},
        "session_id": "s",
    }
    assert request.seconds == 32
