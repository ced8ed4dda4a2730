"""The tasks of the application in the words of the API."""

from __future__ import annotations

from pydantic import PydanticUserError

from turnwise.agents.chat_agent import ChatAgent
from turnwise.agents.tools.handler_lookup import effect_of
from turnwise.api.catalogue import TaskAgentView, TaskDetail, TaskTreeView, ToolView
from turnwise.api.fleet import TaskView
from turnwise.api.runs import LimitsView
from turnwise.app import App
from turnwise.base.money import decimal_string
from turnwise.bus.routing import queue_for
from turnwise.machine.spec import TaskSpec
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tools.orchestration import HANDLED_BY_DEFAULT
from turnwise.processes.settings import ServiceSettings


def task_view(app: App, name: str) -> TaskView:
    """A task as lists show it; raises `UnknownTaskError`."""
    tree = app.tree(name)
    return TaskView(
        name=name,
        application=app.name,
        version=app.version,
        paths=list(tree.tasks),
        keeps_conversation=not tree.root.restart,
        description=app.description(name),
    )


def task_detail(app: App, name: str, settings: ServiceSettings) -> TaskDetail:
    """A task with its tree, its agents and their tools; raises `UnknownTaskError`."""
    tree = app.tree(name)
    return TaskDetail(
        **task_view(app, name).model_dump(),
        pinned=settings.pinned,
        tree=_tree(tree.root),
        agents=[_agent(key, agent, settings) for key, agent in tree.agents.items()],
        limits=LimitsView(
            max_cost=decimal_string(settings.max_cost),
            max_tokens=settings.max_tokens,
            turns=None,
            deadline=settings.run_deadline,
            on_limit=settings.on_limit,
            can_wait=tree.can_wait(tree.root.path),
        ),
        max_turns=settings.max_turns,
    )


def _tree(spec: TaskSpec) -> TaskTreeView:
    return TaskTreeView(
        path=spec.path,
        name=spec.name,
        agent=spec.agent,
        interactive=spec.interactive,
        turns=spec.turns if spec.turns > 0 else None,
        sub_tasks=[_tree(sub) for sub in spec.sub_tasks],
    )


def _agent(key: str, agent: ChatAgent, settings: ServiceSettings) -> TaskAgentView:
    name, llm = agent.config.name, agent.config.llm
    queues = settings.llm_queues, settings.agent_queues
    return TaskAgentView(
        key=key,
        name=name,
        model=None if llm is None else llm.chat_model or llm.type,
        llm_queue=None if llm is None else queue_for("llm", name, *queues),
        agent_queue=queue_for("agent", name, *queues),
        tools=[_tool(agent, kind) for kind in agent.toolbox.known.values() if _is_offered(agent, kind)],
    )


def _is_offered(agent: ChatAgent, kind: type[ToolMessage]) -> bool:
    """Return whether the agent has the tool for a reason of its own: some are handled by every agent."""
    box, name = agent.toolbox, kind.name()
    return name in box.usable or (name in box.handled and kind not in HANDLED_BY_DEFAULT)


def _tool(agent: ChatAgent, kind: type[ToolMessage]) -> ToolView:
    name = kind.name()
    handled = name in agent.toolbox.handled
    try:
        parameters = kind.llm_function_schema().parameters
    except PydanticUserError:  # a tool that no model is told of may have a field of any type
        parameters = None
    return ToolView(
        name=name,
        purpose=str(kind.default_value("purpose") or ""),
        parameters=parameters,
        usable=name in agent.toolbox.usable,
        handled=handled,
        effect=effect_of(agent, kind.model_construct(request=name)) if handled else None,
        timeout=kind.private_default("_timeout"),
    )
