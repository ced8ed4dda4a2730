"""Names of `TURNWISE_*` variables: those that mean something, and the nearest one to a name that does not.

A setting with a mistyped name would be ignored in silence: a cost limit that is never applied. So every name with the
prefix is checked wherever settings are read from.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping

PREFIX = "TURNWISE_"

# Variables that are not settings of a service, by what reads them.
_OTHERS = {
    "every command": ("SECRETS_DIR", "DEBUG"),
    "clients": ("URL", "API_KEY"),
    "the demo": ("DEMO_DIR", "DEMO_MODEL"),
    # In the `.env` beside docker-compose.yml, which commands that are started in that folder read as well.
    "docker-compose.yml": (
        "PORT",
        "ENV_FILE",
        "APP_DIR",
        "MAX_CONNECTIONS",
        "PROMETHEUS_PORT",
        "ALERTMANAGER_PORT",
        "ALERTMANAGER_DIR",
        "GRAFANA_PORT",
    ),
    "the tests": ("TEST_POSTGRES", "TEST_AMQP_URL", "TEST_REDIS_URL"),
}
OTHER_NAMES = frozenset(PREFIX + name for names in _OTHERS.values() for name in names)
# Settings of earlier versions, and what to set today.
REPLACED = {"TURNWISE_MOVE_WITH_REPLY": "set TURNWISE_MOVES=worker instead"}
_PAGE = "docs/configuration.md"


def known_names(fields: Iterable[str]) -> frozenset[str]:
    """Every name that means something, given the fields of the settings."""
    return OTHER_NAMES | {PREFIX + field.upper() for field in fields}


def faults_in_names(
    fields: Iterable[str], environment: Mapping[str, str], others: Mapping[str, Iterable[str]]
) -> Iterator[str]:
    """A sentence for each unknown name in the environment and in `others`, which has names by where they are."""
    known = known_names(fields)
    yield from _unknown(_without_service_links(environment), known, "")
    for where, names in others.items():
        yield from _unknown(names, known, f" ({where})")


def _unknown(names: Iterable[str], known: frozenset[str], where: str) -> Iterator[str]:
    # In any case, as the settings themselves are read.
    for name in sorted({name.upper() for name in names}):
        if name.startswith(PREFIX) and name not in known:
            yield f"{name}{where} is not a setting; {_advice(name, known)}"


def _advice(name: str, known: frozenset[str]) -> str:
    if name in REPLACED:
        return REPLACED[name]
    near = difflib.get_close_matches(name.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in known], n=1)
    return f"did you mean {PREFIX}{near[0]}?" if near else f"{_PAGE} lists those that exist, remove it"


def _without_service_links(environment: Mapping[str, str]) -> Iterator[str]:
    """The names without those that Kubernetes sets for a Service called turnwise-something.

    For each Service of the namespace a pod is given NAME_SERVICE_HOST, NAME_SERVICE_PORT, NAME_PORT and their kin,
    unless its `enableServiceLinks` is false.
    """
    links = {
        name.removesuffix("_SERVICE_HOST")
        for name in environment
        if name.endswith("_SERVICE_HOST") and name.replace("_SERVICE_HOST", "_SERVICE_PORT") in environment
    }
    kin = tuple(f"{service}_{kind}" for service in links for kind in ("SERVICE_", "PORT"))
    return (name for name in environment if not name.startswith(kin))
