"""A gateway's refusal in the words of the command line: options and arguments in place of the API's fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from turnwise.cli.client_settings import KEY_VARIABLES, client_setting
from turnwise.errors import InvalidRequestError, TurnwiseError, UnauthorizedError

# Where a gateway names a field: `body.limits.deadline: ...`, one after another.
_FIELD = re.compile(r"(?:^|(?<=; ))(?:body|query|path)\.([\w.-]+): ([^;]*)")
# Parameters of commands that are called otherwise than the API's field; any other loses no more than its `_id`.
_PARAMETERS = {
    "q": "search",
    "tags": "tag",
    "events": "event",
    "start_at": "start",
    "end_at": "end",
    "url": "target",
}
# What a parameter has to look like, in place of a regular expression.
_FORMS = {
    "session": "expected letters, digits and ._:@-, at most 128, the first a letter or digit",
    "name": "expected letters, digits and ._-",
}
_PATTERN = "String should match pattern"


# Any: the class of commands that typer uses here has no public name.
def told(error: TurnwiseError, command: Any) -> str:
    """Return what to say of an error of a command, or of one of the commands of a group."""
    if isinstance(error, UnauthorizedError):
        return _about_the_key(error)
    if isinstance(error, InvalidRequestError):
        return _FIELD.sub(lambda found: _named(found, command), str(error))
    return str(error)


def _about_the_key(error: UnauthorizedError) -> str:
    given = client_setting(*KEY_VARIABLES)
    if given is None:
        return (
            "the gateway wants a key, and there is none; set TURNWISE_API_KEY to a key of `turnwise keys create`, or "
            "to the server's token"
        )
    return f"the gateway refuses the key in {given.name}: {error}"


def _named(found: re.Match[str], command: Any) -> str:
    parameters = {parameter.name: parameter for parameter in _parameters(command)}
    for field in found[1].split("."):
        name = _PARAMETERS.get(field, field.removesuffix("_id"))
        if name in parameters:
            said = _FORMS[name] if found[2].startswith(_PATTERN) and name in _FORMS else found[2]
            return f"{_shown(parameters[name])}: {said}"
    return found[0]


def _parameters(command: Any) -> Iterator[Any]:
    yield from getattr(command, "params", ())
    for inner in getattr(command, "commands", {}).values():
        yield from _parameters(inner)


def _shown(parameter: Any) -> str:
    """Return an option as it is written, and an argument as the help has it."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper()).strip("[].")
    return str(max(parameter.opts, key=len))
