"""The routing of asks: the names of exchanges and queues, and the choice of a queue.

Every work queue is bound to `<queue>.#` of one topic exchange, and a routing key begins with the queue that the
publisher chose; so an ask reaches exactly one work queue, and an observer can bind to any agent's asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal
from urllib.parse import quote

EXCHANGE = "turnwise"
NOTICES = "turnwise.notices"
CANCELLATIONS = "turnwise.cancellations"
WATCHES = "turnwise.watches"
TEXTS = "turnwise.texts"
COORDINATOR_QUEUE = "coordinator"
LLM_QUEUE = "llm"
AGENT_QUEUE = "agent"

Responder = Literal["llm", "agent"]


def encode_agent(agent: str) -> str:
    """The agent's name as a single word of a routing key.

    Whatever is no ASCII letter, digit, `-` or `_` is percent-encoded as UTF-8: a dot would begin another word.
    """
    # `quote` never encodes dots and tildes, which are unreserved in URLs.
    return quote(agent, safe="").replace(".", "%2E").replace("~", "%7E")


def lane(queue: str, version: str | None) -> str:
    """Return where the broker keeps the messages of `queue` that are for processes of one version alone; None: the
    queue.

    The record knows queues only, so that asks and runs do not depend on how they are delivered.
    """
    return queue if version is None else f"{queue}@{encode_agent(version)}"


def queue_of_lane(name: str) -> str:
    """The queue whose messages the lane carries."""
    return name.partition("@")[0]


def routing_key(queue: str, agent: str) -> str:
    """The routing key of an ask: `<queue>.<agent>`."""
    return f"{queue}.{encode_agent(agent)}"


def binding_key(queue: str) -> str:
    """Return what a work queue is bound with: everything that begins with its name."""
    return f"{queue}.#"


def queue_for(responder: Responder, agent: str, llm_queues: Mapping[str, str], agent_queues: Mapping[str, str]) -> str:
    """The queue of an agent's asks: `llm` or `agent`, or the one dedicated to it.

    The mappings are those of the settings: from an agent's name to the word after `llm-` or `agent-`.
    """
    own, common = (llm_queues, LLM_QUEUE) if responder == "llm" else (agent_queues, AGENT_QUEUE)
    return f"{common}-{own[agent]}" if agent in own else common


def all_queues(llm_queues: Mapping[str, str], agent_queues: Mapping[str, str]) -> tuple[str, ...]:
    """Every queue of an installation, `coordinator` first, without duplicates."""
    return (COORDINATOR_QUEUE, *work_queues(llm_queues, agent_queues))


def work_queues(llm_queues: Mapping[str, str], agent_queues: Mapping[str, str]) -> tuple[str, ...]:
    """Every queue of asks, which responders serve: all but the coordinator's, without duplicates."""
    names: Iterable[str] = (
        LLM_QUEUE,
        AGENT_QUEUE,
        *(f"{LLM_QUEUE}-{name}" for name in llm_queues.values()),
        *(f"{AGENT_QUEUE}-{name}" for name in agent_queues.values()),
    )
    return tuple(dict.fromkeys(names))
