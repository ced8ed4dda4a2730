"""The forms of answer that the model is offered: calls of functions, or JSON of a schema."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from turnwise.agents.output.output_format import OutputFormat
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.toolset import ToolSets
from turnwise.models.base import LLMFunctionSpec, ToolChoice
from turnwise.models.language_model import LanguageModel

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


def tool_choice(agent: ChatAgent, model: LanguageModel, message: str | ChatDocument | None) -> ToolChoice | None:
    """The functions and the format that the API is told of; None for neither."""
    output, legacy = agent.answer_format, not agent.config.use_tools_api
    if output is None and agent.record.mending and model.supports_json_schema:
        output = _mended(agent, message)
    choice = None if output is not None and output.force_tools else _functions(agent, message)
    if output is None:
        return choice
    if model.supports_json_schema:
        return (choice or ToolChoice(legacy=legacy)).model_copy(update={"response_format": output.response_format})
    if agent.config.use_functions_api and output.tool is not None:
        spec = output.tool.llm_function_schema(defaults=output.defaults)
        return ToolChoice(tools=[spec], choice=spec.name, legacy=legacy)
    return choice


def _mended(agent: ChatAgent, message: str | ChatDocument | None) -> OutputFormat | None:
    """The format of an answer that writes a tool again, if that is what AGENT asked for."""
    if not isinstance(message, ChatDocument) or message.metadata.sender != Entity.AGENT:
        return None
    name = agent.record.mending
    tool = agent.toolbox.known.get(name)
    return OutputFormat(kind=tool, defaults=name not in agent.toolbox.bare) if tool is not None else None


def _functions(agent: ChatAgent, message: str | ChatDocument | None) -> ToolChoice | None:
    """The usable tools; None without `use_functions_api`."""
    config, sets = agent.config, agent.toolbox.sets
    if not config.use_functions_api or not sets.usable:
        return None
    choice: Any = message.oai_tool_choice if isinstance(message, ChatDocument) else "auto"
    forced = agent.record.forced_tool
    if forced in sets.usable:
        choice = forced
    elif isinstance(choice, dict):
        choice = choice.get("function", {}).get("name", "auto")
    return ToolChoice(tools=_specs(sets), choice=str(choice), legacy=not config.use_tools_api)


@lru_cache(maxsize=4096)
def _specs(sets: ToolSets) -> list[LLMFunctionSpec]:
    """The usable tools for the API; schemas are slow to make, and the sets of an agent rarely change."""
    return [sets.known[name].llm_function_schema(defaults=name not in sets.bare) for name in sorted(sets.usable)]
