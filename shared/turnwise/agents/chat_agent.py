"""An agent: who answers as AGENT, LLM and USER of a task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from turnwise.agents import model_turn
from turnwise.agents.config import ChatAgentConfig
from turnwise.agents.human.human_reply import human_reply
from turnwise.agents.tools.tool_handling import ToolHandling, as_document
from turnwise.base.sync_async import Steps, run_async, run_sync
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.human import human_answer
from turnwise.models.base import LLMMessage, Role

Responder = Callable[[str | ChatDocument | None], ChatDocument | None]
AsyncResponder = Callable[[str | ChatDocument | None], Awaitable[ChatDocument | None]]


class ChatAgent(ToolHandling):
    """A model with tools and a history.

    `config` are its settings; `task` are messages that say what it is for: a first one with the role SYSTEM replaces
    the system message of the settings, a USER message after it the user message.

    Handlers of tools are methods named like the tool's `request`. A subclass may override `agent_response`,
    `llm_response`, `user_response` (and their async twins), `handle_message`, `handle_message_fallback`,
    `handle_tool_message`, `tool_validation_error`, `json_format_rules`, `tool_instructions`, `init_state` and `clone`.
    In a served run an agent is made afresh for each answer, with the attributes that the last answer left, as far as
    they are data. `State`, a pydantic model whose value is `self.state`, begins afresh with the conversation.
    """

    def __init__(self, config: ChatAgentConfig | None = None, task: Sequence[LLMMessage] | None = None) -> None:
        super().__init__(_with_task(config, task) if task else config)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._own_llm = not (cls.inherits("llm_response") and cls.inherits("llm_response_async"))

    @classmethod
    def inherits(cls, name: str) -> bool:
        """Return whether the class takes the attribute `name` from `ChatAgent` as it is, and so did not override it."""
        for base in cls.__mro__:
            if name in base.__dict__:
                return base in ChatAgent.__mro__
        return False

    def entity_responders(self) -> list[tuple[Entity, Responder]]:
        """Return who answers as each of the agent's entities, in the order in which a task asks them."""
        return [
            (Entity.AGENT, self.agent_response),
            (Entity.LLM, self.llm_response),
            (Entity.USER, self.user_response),
        ]

    def entity_responders_async(self) -> list[tuple[Entity, AsyncResponder]]:
        """Return who answers as each of the agent's entities in an event loop; as `entity_responders`."""
        return [
            (Entity.AGENT, self.agent_response_async),
            (Entity.LLM, self.llm_response_async),
            (Entity.USER, self.user_response_async),
        ]

    # --- LLM ---------------------------------------------------------------------------------------------------

    def llm_can_respond(self, message: str | ChatDocument | None = None) -> bool:
        """Return whether the agent has a model, and handles no tool in the message."""
        return self._llm is not None and not self.get_tool_messages(message)

    def llm_response(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        """Return what the model answers to `message`; both are appended to the history. None if it cannot answer.

        It cannot if the agent has no model, the message is blank, or holds a tool that the agent handles. Without a
        message, the model answers its system and user messages, or its last answer again. Raises `ModelError`, and
        `ContextOverflowError` for a conversation that is too long for it even shortened.
        """
        return run_sync(model_turn.answer(self, message))

    async def llm_response_async(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        """The same as `llm_response`, without blocking the event loop."""
        if type(self).llm_response is not ChatAgent.llm_response:
            return self.llm_response(message)
        return await run_async(model_turn.answer(self, message))

    def llm_response_forget(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        """Return what the model answers, after which the history is as it was; None if it cannot answer.

        An override of `llm_response` is not asked. Raises `ModelError`.
        """
        return run_sync(model_turn.one_off(self, message))

    async def llm_response_forget_async(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        """The same as `llm_response_forget`, without blocking the event loop."""
        return await run_async(model_turn.one_off(self, message))

    def llm_response_messages(
        self,
        messages: Sequence[LLMMessage],
        output_len: int | None = None,
        tool_choice: str | dict[str, Any] = "auto",
    ) -> ChatDocument:
        """Return what the model answers to these messages alone; the agent's history plays no part and stays as it is.

        `output_len` bounds the answer in tokens (default: `max_output_tokens` of the model's settings). `tool_choice`
        is `auto`, `none`, `required`, or names a function as the API does; it counts where tools are functions of the
        API. The messages have to fit: nothing is shortened. `llm_response` does not go through this method. Raises
        `ConfigurationError` without a model, and `ModelError`.
        """
        return run_sync(model_turn.answer_to(self, messages, output_len, tool_choice))

    async def llm_response_messages_async(
        self,
        messages: Sequence[LLMMessage],
        output_len: int | None = None,
        tool_choice: str | dict[str, Any] = "auto",
    ) -> ChatDocument:
        """The same as `llm_response_messages`, without blocking the event loop."""
        return await run_async(model_turn.answer_to(self, messages, output_len, tool_choice))

    # --- USER --------------------------------------------------------------------------------------------------

    def user_response(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        """Return what the human answers; None for an empty answer.

        He is `default_human_response` if that is set, else the callback `get_user_response`, else whoever sits at the
        terminal. A text that begins with `SYSTEM` becomes a message from SYSTEM without that word.
        """
        return run_sync(self._ask_user(None if msg is None else as_document(msg)))

    async def user_response_async(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        """The same as `user_response`, awaiting the callback's async twin where it is set."""
        if type(self).user_response is not ChatAgent.user_response:
            return self.user_response(msg)
        return await run_async(self._ask_user(None if msg is None else as_document(msg)))

    def _ask_user(self, question: ChatDocument | None) -> Steps[ChatDocument | None]:
        text = self.default_human_response
        if text is None:
            text = yield human_reply(self.callbacks, question, self.config.name)
        return human_answer(
            text or "", question, default=self.default_human_response, open_calls=self.record.open_calls
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
