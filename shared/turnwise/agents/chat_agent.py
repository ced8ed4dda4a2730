"""An agent: who answers as AGENT, LLM and USER of a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from turnwise.agents import prompts, responders, responses
from turnwise.agents.agent import Agent
from turnwise.agents.config import ChatAgentConfig
from turnwise.agents.history import editing
from turnwise.agents.output import format_setting
from turnwise.agents.tools import answering, reading
from turnwise.agents.tools.handler_lookup import brought_handler, method_named
from turnwise.messages.toolset import AgentFacts
from turnwise.models.base import LLMMessage, Role

# The methods that decide what AGENT answers to a message without a tool of its own.
_HANDLING = (
    "handle_message_fallback",
    "agent_response",
    "agent_response_async",
    "handle_message",
    "handle_message_async",
)
_SETTABLE = frozenset((*_HANDLING, "handle_tool_message", "handle_tool_message_async"))


class ChatAgent(Agent):
    """A model with tools and a history.

    `config` are its settings; `task` are messages that say what it is for: a first one with the role SYSTEM replaces
    the system message of the settings, a USER message after it the user message.

    Handlers of tools are methods named like the tool's `request`. A subclass may override `agent_response`,
    `llm_response`, `user_response` (and their async twins), `handle_message`, `handle_message_fallback`,
    `handle_tool_message`, `tool_validation_error`, `json_format_rules`, `tool_instructions`, `init_state` and `clone`.
    In a served run an agent is made afresh for each answer, with the attributes that the last answer left, as far as
    they are data. `State`, a pydantic model whose value is `self.state`, begins afresh with the conversation.
    """

    # True if the application's own code answers as LLM, or as AGENT. Set once for a class, because each move asks.
    _own_llm: ClassVar[bool] = False
    _own_handling: ClassVar[bool] = False
    # The methods for tools and messages that were set on this one agent.
    _set_here: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, config: ChatAgentConfig | None = None, task: Sequence[LLMMessage] | None = None) -> None:
        super().__init__(_with_task(config, task) if task else config)
        if self.config.output_format is not None:
            self.set_output_format(self.config.output_format)
            # The configuration says it already, so it is not kept.
            self.record.output_format = None

    if not TYPE_CHECKING:  # or a type checker would take any name for an attribute

        def __setattr__(self, name: str, value: Any) -> None:
            # A look into `__dict__` for each answer would make CPython read all attributes more slowly.
            if name in _SETTABLE:
                object.__setattr__(self, "_set_here", self._set_here | {name})
                if name in _HANDLING:
                    object.__setattr__(self, "_own_handling", True)
            object.__setattr__(self, name, value)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._own_llm = not (cls.inherits("llm_response") and cls.inherits("llm_response_async"))
        cls._own_handling = any(getattr(cls, name) is not getattr(ChatAgent, name) for name in _HANDLING)

    @classmethod
    def inherits(cls, name: str) -> bool:
        """Return whether the class takes the attribute `name` from `ChatAgent` as it is, and so did not override it."""
        for base in cls.__mro__:
            if name in base.__dict__:
                return base in ChatAgent.__mro__
        return False

    if not TYPE_CHECKING:  # a type checker would take any name, misspelt ones too

        def __getattr__(self, name: str) -> Any:
            """The handler that a known tool brings in its class, by the tool's name: `agent.square(Square(num=3))`."""
            toolbox = None if name.startswith("__") else self.__dict__.get("toolbox")
            found = brought_handler(self, toolbox.known, name) if toolbox is not None else None
            unread = self.__dict__.get("_unread")
            return (
                super().__getattr__(name)
                if found is None or (unread is not None and unread.has_for(self, name))
                else found
            )

    method_named = method_named

    # --- the answers of AGENT, LLM and USER --------------------------------------------------------------------

    entity_responders = responders.entity_responders
    entity_responders_async = responders.entity_responders_async

    agent_response = answering.agent_response
    agent_response_async = answering.agent_response_async
    handle_message = answering.handle_message
    handle_message_async = answering.handle_message_async
    handle_tool_message = answering.handle_tool_message
    handle_tool_message_async = answering.handle_tool_message_async
    handle_message_fallback = answering.handle_message_fallback
    tool_validation_error = answering.tool_validation_error

    llm_can_respond = responders.llm_can_respond
    llm_response = responders.llm_response
    llm_response_async = responders.llm_response_async
    llm_response_forget = responders.llm_response_forget
    llm_response_forget_async = responders.llm_response_forget_async
    llm_response_messages = responders.llm_response_messages
    llm_response_messages_async = responders.llm_response_messages_async

    user_response = responders.user_response
    user_response_async = responders.user_response_async

    # --- the tools in messages ---------------------------------------------------------------------------------

    get_tool_messages = reading.get_tool_messages
    try_get_tool_messages = reading.try_get_tool_messages
    get_json_tool_messages = reading.get_json_tool_messages
    has_tool_message_attempt = reading.has_tool_message_attempt
    has_only_unhandled_tools = reading.has_only_unhandled_tools
    can_respond = reading.can_respond

    # --- messages, and values in them --------------------------------------------------------------------------

    response_template = responses.response_template
    create_agent_response = responses.create_agent_response
    create_llm_response = responses.create_llm_response
    create_user_response = responses.create_user_response
    to_ChatDocument = responses.to_ChatDocument
    from_ChatDocument = responses.from_ChatDocument
    process_tool_results = responses.process_tool_results

    # --- the format of answers ---------------------------------------------------------------------------------

    set_output_format = format_setting.set_output_format
    __getitem__ = format_setting.in_format

    @property
    def output_format(self) -> type[Any] | None:
        """The type that answers have to be; None for any text."""
        return self.answer_format.wanted if self.answer_format is not None else None

    # --- the beginning of the conversation ---------------------------------------------------------------------

    set_system_message = prompts.set_system_message
    set_user_message = prompts.set_user_message
    augment_system_message = prompts.augment_system_message
    json_format_rules = prompts.json_format_rules
    tool_instructions = prompts.tool_instructions
    system_and_tools_message = prompts.system_and_tools_message
    init_message_history = prompts.init_message_history

    @property
    def system_message(self) -> str:
        """The application's part of the system message."""
        own = self.record.system_message
        return self.config.system_message if own is None else own

    @system_message.setter
    def system_message(self, message: str) -> None:
        self.set_system_message(message)

    @property
    def user_message(self) -> str | None:
        """The message from USER that a conversation begins with, None or "" for none."""
        own = self.record.user_message
        return self.config.user_message if own is None else own

    @user_message.setter
    def user_message(self, message: str | None) -> None:
        self.set_user_message(message or "")

    @property
    def task_messages(self) -> list[LLMMessage]:
        """Return what every conversation begins with: the system message, and the user message if there is one."""
        first = [self.system_and_tools_message()]
        if self.user_message:
            first.append(LLMMessage(role=Role.USER, content=self.user_message))
        return first

    # --- the conversation --------------------------------------------------------------------------------------

    clear_history = editing.clear_history
    update_history = editing.update_history
    update_last_message = editing.update_last_message
    delete_last_message = editing.delete_last_message
    truncate_message = editing.truncate_message
    last_message_with_role = editing.last_message_with_role
    last_message_idx_with_role = editing.last_message_idx_with_role
    nth_message_idx_with_role = editing.nth_message_idx_with_role
    chat_num_tokens = editing.chat_num_tokens
    num_tokens = editing.num_tokens
    message_history_str = editing.message_history_str

    @property
    def message_history(self) -> list[LLMMessage]:
        """The conversation with the model; the first message is the system message. Empty before the first call.

        The list may be edited, its messages are values: put another one in place of one that is to change.
        """
        return self.history.messages

    @message_history.setter
    def message_history(self, messages: list[LLMMessage]) -> None:
        self.history.replace(messages)

    # --- the agent as the rules of a task see it ---------------------------------------------------------------

    def facts(self) -> AgentFacts:
        """The agent as the rules of a task see it."""
        config, form = self.config, self.answer_format
        # By position, which takes half the time: every move asks.
        return AgentFacts(
            config.name,
            self.toolbox.sets,
            self.llm is not None,  # has_llm
            self.is_silent(),  # silent
            config.respond_tools_only,
            config.accept_user_tools,
            form is None or form.tool is not None,  # infers_tools
            tuple(self.record.open_calls),
            len(self.history.held or ()),  # history_len
            self._own_llm,
        )

    def is_silent(self) -> bool:
        """Return whether AGENT certainly answers nothing to a message without a tool that it handles."""
        return (
            not self._own_handling
            and self.config.handle_llm_no_tool is None
            and self.answer_format is None
            and (not self.toolbox.fallback_of or self.toolbox.fallback is None)
        )


ChatAgent._of_library = frozenset(ChatAgent.__mro__)


def _with_task(config: ChatAgentConfig | None, task: Sequence[LLMMessage]) -> ChatAgentConfig:
    """The settings with the messages that `task` begins with."""
    given: dict[str, str] = {}
    if task[0].role == Role.SYSTEM:
        given["system_message"] = task[0].content
    if len(task) > 1 and task[1].role == Role.USER:
        given["user_message"] = task[1].content
    return (config if config is not None else ChatAgentConfig()).model_copy(update=given)
