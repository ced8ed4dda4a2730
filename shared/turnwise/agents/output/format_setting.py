"""The format of a model's answers: setting it, and keeping it between turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, get_origin

from pydantic import BaseModel

from turnwise.agents.aside import aside
from turnwise.agents.kept_state import FormatRecord
from turnwise.agents.output.output_format import OutputFormat, checked_kind, type_name
from turnwise.base.places import found_at, packages_of
from turnwise.errors import ConfigurationError
from turnwise.messages.tool_message import ToolMessage

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent

A = TypeVar("A", bound="ChatAgent")


def set_output_format(
    agent: ChatAgent,
    output_type: type[Any] | None,
    force_tools: bool | None = None,
    use: bool | None = None,
    handle: bool | None = None,
    instructions: bool | None = None,
) -> None:
    """Let the model answer with objects of this class only, from its next call on; None for any text again.

    Of a type that is no pydantic model, such as `int` or `list[str]`, the model writes an object with the field
    `value`; the value alone is read as well.

    A server that holds models to schemas is given the schema; any other model is told in the system message, or
    made to call the tool where tools are functions of the API. The answer's `content_any` is the object; a tool
    is attached to it, and enabled: `use` by the model, `handle` by the agent. `force_tools` leaves out the
    functions of the API, so that none is called instead; `instructions` puts the schema into the system message.
    None takes the configuration's value. An answer of another form is no answer: AGENT says what is wrong.

    Raises `ConfigurationError` for what is no type, or one that JSON cannot express.
    """
    _forget_format(agent)
    if output_type is not None:
        kind, config = checked_kind(output_type), agent.config
        name = kind.name() if issubclass(kind, ToolMessage) else ""
        agent.answer_format = OutputFormat(
            kind=kind,
            instructions=_given(instructions, config.instructions_output_format),
            force_tools=_given(force_tools, config.use_tools_on_output_format),
            defaults=config.output_format_include_defaults,
            usable=name in agent.toolbox.usable,
            handled=name in agent.toolbox.handled,
        )
        _enable_format(
            agent, use=_given(use, config.use_output_format), handle=_given(handle, config.handle_output_format)
        )
    agent.record.output_format = _format_record(agent)


def in_format(agent: A, output_type: type[Any] | None) -> A:
    """A copy of the agent that answers in this format and continues from the same conversation by itself.

    The usage of its model counts as the agent's own. It shares `state` and other attributes with the agent.
    """
    other = aside(agent)
    other.set_output_format(output_type)
    return other


def restore_format(agent: ChatAgent, registry: Mapping[str, type[ToolMessage]]) -> None:
    """Take over the format that the record names, in place of the factory's, which the agent has.

    Raises `ConfigurationError` if there is no such class here.
    """
    kept, made = agent.record.output_format, agent.answer_format
    if kept is None:
        return
    agent.answer_format = None
    if kept.kind:
        # A newer factory may set none.
        kind = made.kind if kept.of_factory and made is not None else _kept_kind(agent, kept, registry)
        agent.answer_format = OutputFormat(kind=kind, **kept.model_dump(exclude={"tool", "kind", "of_factory"}))


def _kept_kind(agent: ChatAgent, kept: FormatRecord, registry: Mapping[str, type[ToolMessage]]) -> type[BaseModel]:
    # Another agent may know another tool by that name.
    tool = agent.toolbox.known.get(kept.tool) or registry.get(kept.tool)
    return tool if kept.tool and tool is not None else _found(kept.kind, type(agent))


def _forget_format(agent: ChatAgent) -> None:
    before = agent.answer_format
    if before is not None and before.tool is not None:
        agent.toolbox.enable(before.tool, use=before.usable, handle=before.handled)
    agent.answer_format = None


def _enable_format(agent: ChatAgent, *, use: bool, handle: bool) -> None:
    output = agent.answer_format
    if output is not None and output.tool is not None:
        agent.toolbox.enable(
            output.tool,
            use=use or output.usable,
            handle=handle or output.handled,
            include_defaults=output.defaults,
        )


def _format_record(agent: ChatAgent) -> FormatRecord:
    output = agent.answer_format
    if output is None:
        return FormatRecord()
    return FormatRecord(
        kind=f"{output.wanted.__module__}:{type_name(output.wanted)}",
        tool=output.tool.name() if output.tool is not None else "",
        instructions=output.instructions,
        force_tools=output.force_tools,
        defaults=output.defaults,
        usable=output.usable,
        handled=output.handled,
    )


def lasting_format(
    agent: ChatAgent, of_factory: OutputFormat | None, registry: Mapping[str, type[ToolMessage]]
) -> FormatRecord | None:
    """Return what is to be kept of the format that was set, None where the factory's holds.

    Raises `ConfigurationError` if another process would not find the type.
    """
    kept, output = agent.record.output_format, agent.answer_format
    if kept is None or output == of_factory:
        return None
    if output is None:
        return kept
    is_made = of_factory is not None and output.kind == of_factory.kind
    if not is_made:
        _check_found(kept, output, registry)
    return kept.model_copy(update={"of_factory": is_made})


def _check_found(kept: FormatRecord, output: OutputFormat, registry: Mapping[str, type[ToolMessage]]) -> None:
    if kept.tool and kept.tool not in registry:
        raise ConfigurationError(
            f"the tool {kept.tool!r} was set as the format of answers, but no agent of the application knows it; "
            "enable it in the factory, for instance with enable_message(..., use=False, handle=False)"
        )
    if not kept.tool:
        _check_name(output.wanted)
        _found(kept.kind, object)


def _check_name(wanted: Any) -> None:
    if not isinstance(wanted, type) or get_origin(wanted) is not None or "[" in wanted.__qualname__:
        raise ConfigurationError(
            f"the format of answers {type_name(wanted)!r} cannot be found by other processes, as it is no class with a "
            "name of its own; set it in the factory, or set a model with a field of that type"
        )


def _found(place: str, agent: type[Any]) -> type[BaseModel]:
    """The class at `module:qualified.name`, in a module that is loaded or belongs to the agent's package."""
    try:
        found = found_at(place, packages_of(agent))
    except LookupError as error:
        raise ConfigurationError(
            f"the format of answers {place!r} cannot be found by other processes ({error}); "
            "define the class at the top level of a module, or set it in the factory"
        ) from error
    return checked_kind(found)


def _given(value: bool | None, default: bool) -> bool:
    return default if value is None else value
