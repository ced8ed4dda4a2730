"""The contenders: how each is started, configured, and what it guarantees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Server = Literal["folder", "postgres", "rabbitmq"]


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A program that plays the loop.

    `needs` are passed to the program in this order: a file in a fresh folder, the URL of an empty database or broker.
    `prefix` is what the library puts before the file's path. `is_peer` ones run in the environment of the peers.
    """

    name: str
    label: str
    module: str
    arguments: Sequence[str] = ()
    needs: Sequence[Server] = ()
    prefix: str = ""
    is_peer: bool = False
    guarantee: str


_TAKEN = "Every answer that was taken is on record before anyone acts on it."
_NORMAL = "It survives the death of the process; a loss of power may take the last moments."
_FULL = "It survives a loss of power."
_STEP = "The state after each step is on record before the next step begins."


def _turnwise(way: str, label: str, guarantee: str, *needs: Server) -> Contender:
    return Contender(
        name=f"turnwise-{way}",
        label=f"Turnwise, {label}",
        module="bench.peers.turnwise_loop",
        arguments=[way],
        needs=needs,
        guarantee=guarantee,
    )


def _langgraph(name: str, label: str, guarantee: str, need: Server, *options: str) -> Contender:
    return Contender(
        name=f"langgraph-{name}",
        label=f"LangGraph, {label}",
        module="bench.peers.contenders.langgraph_loop",
        arguments=[*options, "sqlite" if need == "folder" else "postgres"],
        needs=[need],
        is_peer=True,
        guarantee=guarantee,
    )


_BEHIND = "The state after each step is written while the next one runs: the death of the process may take the last."

CONTENDERS = (
    _turnwise("sync", "in-process", "Nothing is kept: a conversation ends with its process."),
    _turnwise("async", "in-process, asyncio", "Nothing is kept: a conversation ends with its process."),
    _turnwise("embedded-normal", "embedded, SQLite NORMAL", f"{_TAKEN} {_NORMAL}"),
    _turnwise("embedded-full", "embedded, SQLite FULL", f"{_TAKEN} {_FULL}"),
    _turnwise(
        "distributed",
        "distributed, one worker",
        f"{_TAKEN} {_FULL} Any process of several may continue the run. "
        "What a worker held that died is taken over when its lease ends.",
        "postgres",
        "rabbitmq",
    ),
    _turnwise(
        "workers",
        "distributed, two workers",
        "The same; the two workers share the runs.",
        "postgres",
        "rabbitmq",
    ),
    _turnwise(
        "pools",
        "distributed, two pools",
        "The same, with a worker for models and another for tools, so every turn changes the process.",
        "postgres",
        "rabbitmq",
    ),
    _langgraph("sqlite", "SQLite NORMAL", f"{_STEP} {_NORMAL}", "folder", "--synchronous", "NORMAL"),
    _langgraph("sqlite-full", "SQLite FULL", f"{_STEP} {_FULL}", "folder", "--synchronous", "FULL"),
    _langgraph(
        "sqlite-async",
        "SQLite NORMAL, async durability",
        _BEHIND,
        "folder",
        *("--synchronous", "NORMAL", "--durability", "async"),
    ),
    _langgraph(
        "sqlite-plain",
        "SQLite NORMAL, plain state",
        f"{_STEP} {_NORMAL} Messages are dicts without ids; tool calls are not validated.",
        "folder",
        *("--synchronous", "NORMAL", "--state", "plain"),
    ),
    _langgraph("postgres", "PostgreSQL", f"{_STEP} {_FULL} The caller has to invoke a run again.", "postgres"),
    _langgraph("postgres-async", "PostgreSQL, async durability", _BEHIND, "postgres", "--durability", "async"),
    _langgraph(
        "postgres-plain",
        "PostgreSQL, plain state",
        f"{_STEP} {_FULL} Messages are dicts without ids; tool calls are not validated.",
        "postgres",
        *("--state", "plain"),
    ),
    Contender(
        name="dbos-postgres",
        label="DBOS, PostgreSQL",
        module="bench.peers.contenders.dbos_loop",
        needs=["postgres"],
        is_peer=True,
        guarantee="The result of each step is on record before the next one begins; a restarted process continues its "
        f"workflows from there. {_FULL}",
    ),
    Contender(
        name="dbos-sqlite",
        label="DBOS, SQLite FULL",
        module="bench.peers.contenders.dbos_loop",
        needs=["folder"],
        prefix="sqlite:///",
        is_peer=True,
        guarantee="The same, in a file with a rollback journal. Its documentation recommends SQLite for prototypes and "
        "tests.",
    ),
    Contender(
        name="celery",
        label="bare Celery, two hops",
        module="bench.peers.celery_hops",
        needs=["rabbitmq"],
        guarantee="A message survives a restart of the broker, and is lost with the worker that has taken it. There is "
        "no state, no history and no database: it is the price of moving a message twice.",
    ),
)

BY_NAME = {contender.name: contender for contender in CONTENDERS}

# Durable libraries that are not measured, and why.
LEFT_OUT = {
    "Temporal": "Its SDK from PyPI needs the Temporal server, a program that PyPI does not have.",
    "Prefect": "Its engine talks to an API server of its own for every task run, which is a service of another kind.",
    "Hatchet": "Its SDK needs the Hatchet engine, a server that PyPI does not have.",
}
