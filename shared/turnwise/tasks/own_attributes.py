"""The attributes of tasks that are Turnwise's own, those that programs add, and what several objects hold together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from turnwise.agents.attributes.template import Template
from turnwise.agents.chat_agent import ChatAgent
from turnwise.agents.config import ChatAgentConfig
from turnwise.agents.own_attributes import template_of as template_of_agent
from turnwise.messages.tool_message import ToolMessage
from turnwise.tasks.task import Task

if TYPE_CHECKING:
    from turnwise.tasks.tree import TaskTree


def template_of(task: Task[Any], tools: Mapping[str, type[ToolMessage]]) -> Template:
    """Return what is known of the attributes of a task that the factory made; it is looked at once."""
    known: Template | None = vars(task).get("_template")
    if known is None or known.made is not task:
        known = task._template = Template(task, _own(), tools)
    return known


def survey(tree: TaskTree) -> None:
    """Look at all agents and tasks, before the first run changes anything, and find what several of them hold."""
    tools = tree.registry()
    made: list[Template] = [template_of_agent(agent, tools) for agent in tree.agents.values()]
    made += [template_of(task, tools) for task in tree.tasks.values()]
    holders: dict[int, list[tuple[Template, str]]] = {}
    for template in made:
        for identity, name in template.changeable.items():
            holders.setdefault(identity, []).append((template, name))
    for held in holders.values():
        for template, name in held:
            others = [f"{other.kind.__name__}.{its}" for other, its in held if other is not template]
            if others:
                template.shared[name] = others[0]


@lru_cache(maxsize=1)
def _own() -> frozenset[str]:
    task: Task[Any] = Task(ChatAgent(ChatAgentConfig(llm=None)))
    return frozenset(vars(task)) | {"_template", "_unread", "_stepped", "_view"}
