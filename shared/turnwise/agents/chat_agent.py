"""An agent: who answers as AGENT, LLM and USER of a task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from turnwise.agents import dispatch, model_turn
from turnwise.agents.callbacks import Callbacks
from turnwise.agents.config import ChatAgentConfig
from turnwise.agents.history import estimated_tokens, index_of_last, index_of_nth
from turnwise.agents.prompts import system_text
from turnwise.agents.record import AgentRecord
from turnwise.agents.terminal import ask_on_terminal
from turnwise.agents.toolbox import Toolbox
from turnwise.effects import Effect, Steps, run_async, run_sync
from turnwise.entity import Entity
from turnwise.ids import new_id
from turnwise.llm.base import LanguageModel, LLMMessage, LLMTokenUsage, OpenAIToolCall, Role
from turnwise.llm.create import create_model
from turnwise.messages.document import ChatDocMetaData, ChatDocument
from turnwise.messages.finding import Found, find_tools, tool_attempt
from turnwise.messages.human import human_answer
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.toolset import AgentFacts
from turnwise.tools.orchestration import HANDLED_BY_DEFAULT

ToolClasses = type[ToolMessage] | list[type[ToolMessage]] | None


class ChatAgent:
    """A model with tools and a history.

    Handlers of tools are methods named like the tool's `request`. A subclass may override `agent_response`,
    `llm_response`, `user_response` and `handle_message_fallback`.
    """

    # A subclass declares its state as `class State(BaseModel)`: it lasts between turns, in served runs too.
    State: type[BaseModel] | None = None

    def __init__(self, config: ChatAgentConfig | None = None) -> None:
        self.config = config if config is not None else ChatAgentConfig()
        self.id = new_id("agent")
        self.callbacks = Callbacks()
        self.toolbox = Toolbox()
        self.record = AgentRecord()
        self.usage = LLMTokenUsage()
        self.interactive: bool | None = None
        self.default_human_response: str | None = None
        self._history: list[LLMMessage] | None = []
        # In a served run the history is read when somebody looks at it.
        self.history_source: Callable[[], list[LLMMessage]] | None = None
        self._llm: LanguageModel | None = create_model(self.config.llm)
        # The tool whose handler runs, for the record of an error.
        self.tool_in_hand: str | None = None
        # Where documents of earlier turns come from, when they are not in this process.
        self._lookup: Callable[[str], ChatDocument | None] | None = None
        if self.config.enable_orchestration_tool_handling:
            for tool in HANDLED_BY_DEFAULT:
                self.toolbox.enable(tool, use=False, handle=True)
        self.init_state()

    # --- what it is made of ------------------------------------------------------------------------------------

    @property
    def llm(self) -> LanguageModel | None:
        """The model's client, None for an agent without a model."""
        return self._llm

    @llm.setter
    def llm(self, model: LanguageModel | None) -> None:
        self._llm = model

    @property
    def message_history(self) -> list[LLMMessage]:
        """The conversation with the model; the first message is the system message. Empty before the first call."""
        if self._history is None:
            self._history = self.history_source() if self.history_source is not None else []
        return self._history

    @message_history.setter
    def message_history(self, messages: list[LLMMessage]) -> None:
        self._history = messages

    @property
    def oai_tool_calls(self) -> list[OpenAIToolCall]:
        """API calls of the model's last message that have no result yet."""
        return self.record.open_calls

    def message_history_unread(self) -> None:
        """Let the next look at the history read it from `history_source`."""
        self._history = None

    def held_history(self) -> list[LLMMessage] | None:
        """The history, if it was looked at; None if it is still unread."""
        return self._history

    def init_state(self) -> None:
        """Forget the conversation and begin with a fresh `state`. Override it to reset attributes of your own."""
        self._history = []
        self.state = self._fresh_state()
        self.record.open_calls = []
        self.record.kept_message = None

    def facts(self) -> AgentFacts:
        """The agent as the rules of a task see it."""
        return AgentFacts(
            name=self.config.name,
            tools=self.toolbox.sets,
            has_llm=self._llm is not None,
            silent=self.is_silent(),
            respond_tools_only=self.config.respond_tools_only,
            accept_user_tools=self.config.accept_user_tools,
            recognize_recipient=self.config.recognize_recipient_in_content,
            open_calls=tuple(self.record.open_calls),
            history_len=len(self._history or ()),
        )

    def is_silent(self) -> bool:
        """Whether AGENT certainly answers nothing to a message without a tool that it handles."""
        mine, base = type(self), ChatAgent
        return (
            self.config.handle_llm_no_tool is None
            and self.toolbox.fallback is None
            and mine.handle_message_fallback is base.handle_message_fallback
            and mine.agent_response is base.agent_response
            and mine.agent_response_async is base.agent_response_async
        )

    def _fresh_state(self) -> Any:
        return self.State() if self.State is not None else None

    def dump_state(self) -> dict[str, Any] | None:
        """The declared state as JSON-able data; None for an agent that declares none."""
        return self.state.model_dump(mode="json") if isinstance(self.state, BaseModel) else None

    def load_state(self, data: dict[str, Any] | None) -> None:
        """Take over a state written by `dump_state`; None begins with a fresh one."""
        kind = self.State
        self.state = self._fresh_state() if kind is None or data is None else kind.model_validate(data)

    def lookup_in(self, find: Callable[[str], ChatDocument | None]) -> None:
        """Look up earlier documents of the conversation with `find`."""
        self._lookup = find

    def lookup(self, document_id: str) -> ChatDocument | None:
        """A document of this conversation by id, wherever it is kept; None if it is gone."""
        found = ChatDocument.from_id(document_id)
        return found if found is not None or self._lookup is None else self._lookup(document_id)

    # --- tools -------------------------------------------------------------------------------------------------

    def enable_message(
        self,
        message_class: ToolClasses,
        use: bool = True,
        handle: bool = True,
        force: bool = False,
        require_recipient: bool = False,
        include_defaults: bool = True,
    ) -> None:
        """Make tools known to the agent: `use` by its model, `handle` by itself; None for all it knows already.

        `force` makes the model's API call exactly this tool (with `use_functions_api`). `require_recipient` adds a
        field that the model must fill in. `include_defaults` tells the model of fields with defaults, too. Raises
        `ConfigurationError` for a tool without a name.
        """
        for tool in self._classes(message_class):
            self.toolbox.enable(tool, use=use, handle=handle, require_recipient=require_recipient)
            if force:
                self.record.forced_tool = tool.name()

    def enable_message_handling(self, message_class: ToolClasses = None) -> None:
        """Let the agent handle the tool (None: every known one); what its model may use stays."""
        for tool in self._classes(message_class):
            self.toolbox.enable(tool, use=tool.name() in self.toolbox.usable, handle=True)

    def disable_message_handling(self, message_class: type[ToolMessage] | None = None) -> None:
        """Let the agent no longer handle the tool (None: any)."""
        self.toolbox.restrict(self.toolbox.handled, None if message_class is None else [message_class.name()])

    def disable_message_use(self, message_class: type[ToolMessage] | None = None) -> None:
        """Let the model no longer use the tool (None: any)."""
        self.toolbox.restrict(self.toolbox.usable, None if message_class is None else [message_class.name()])

    def disable_message_use_except(self, message_class: type[ToolMessage]) -> None:
        """Let the model use only this one of its tools."""
        self.toolbox.restrict(self.toolbox.usable, self.toolbox.usable - {message_class.name()})

    def unhandled_tools(self) -> set[str]:
        """Names of the tools that are known but not handled."""
        return set(self.toolbox.known) - self.toolbox.handled

    def _classes(self, message_class: ToolClasses) -> list[type[ToolMessage]]:
        if message_class is None:
            return list(self.toolbox.known.values())
        return message_class if isinstance(message_class, list) else [message_class]

    def found(self, doc: ChatDocument) -> Found:
        """The tools in a message, as this agent sees them."""
        return find_tools(doc, self.facts())

    def get_tool_messages(self, msg: str | ChatDocument | None, all_tools: bool = False) -> list[ToolMessage]:
        """The tools in a message that this agent handles, or all that count."""
        if msg is None:
            return []
        doc = ChatDocument.from_str(msg) if isinstance(msg, str) else msg
        found = self.found(doc)
        return list(found.tools if all_tools else found.mine)

    def has_tool_message_attempt(self, msg: str | ChatDocument | None) -> bool:
        """Whether the message is an attempt to use a tool, well or badly."""
        if msg is None:
            return False
        return tool_attempt(ChatDocument.from_str(msg) if isinstance(msg, str) else msg, self.facts())

    # --- AGENT -------------------------------------------------------------------------------------------------

    def agent_response(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        """What the tool handler answers; None for nothing. Errors of handlers propagate."""
        return None if msg is None else run_sync(dispatch.answer(self, _as_doc(msg)))

    async def agent_response_async(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        """The same, awaiting handlers that have an async twin."""
        if type(self).agent_response is not ChatAgent.agent_response:
            return self.agent_response(msg)
        return None if msg is None else await run_async(dispatch.answer(self, _as_doc(msg)))

    def handle_message_fallback(self, msg: str | ChatDocument) -> Any:
        """The answer to a message without a tool that this agent handles. Override it; see `handle_llm_no_tool`."""
        return dispatch.default_fallback(self, _as_doc(msg))

    def create_agent_response(
        self,
        content: str = "",
        content_any: Any = None,
        tool_messages: list[ToolMessage] | None = None,
        recipient: str = "",
    ) -> ChatDocument:
        """A message from AGENT."""
        return self._template(Entity.AGENT, content, content_any, tool_messages, recipient)

    def create_llm_response(
        self,
        content: str = "",
        content_any: Any = None,
        tool_messages: list[ToolMessage] | None = None,
        recipient: str = "",
    ) -> ChatDocument:
        """A message as from this agent's model."""
        return self._template(Entity.LLM, content, content_any, tool_messages, recipient)

    def create_user_response(
        self,
        content: str = "",
        content_any: Any = None,
        tool_messages: list[ToolMessage] | None = None,
        recipient: str = "",
    ) -> ChatDocument:
        """A message as from this agent's human."""
        return self._template(Entity.USER, content, content_any, tool_messages, recipient)

    def _template(
        self, sender: Entity, content: str, content_any: Any, tools: list[ToolMessage] | None, recipient: str
    ) -> ChatDocument:
        return ChatDocument(
            content=content,
            content_any=content_any if content_any is not None else (content or None),
            tool_messages=list(tools or []),
            metadata=ChatDocMetaData(
                source=sender,
                sender=sender,
                agent_id=self.id,
                recipient=recipient,
                tools_from_agent=bool(tools) or sender is Entity.LLM,
            ),
        )

    # --- LLM ---------------------------------------------------------------------------------------------------

    def llm_response(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        """What the model answers to `message`, which is appended to the history; None if it can not answer.

        Without a message, the model answers its system and user messages, or its last answer again. Raises
        `ModelError`.
        """
        return run_sync(model_turn.answer(self, message))

    async def llm_response_async(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        """The same, without blocking the event loop."""
        if type(self).llm_response is not ChatAgent.llm_response:
            return self.llm_response(message)
        return await run_async(model_turn.answer(self, message))

    def llm_response_forget(self, message: str | ChatDocument) -> ChatDocument | None:
        """The model's answer, after which the history is as it was before."""
        before, calls = list(self.message_history), list(self.record.open_calls)
        try:
            return self.llm_response(message)
        finally:
            self.message_history, self.record.open_calls = before, calls

    # --- USER --------------------------------------------------------------------------------------------------

    def user_response(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        """What the human answers: by the callback, by `default_human_response`, or on the terminal."""
        return run_sync(self._ask_user(None if msg is None else _as_doc(msg)))

    async def user_response_async(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        """The same, awaiting the callback's async twin where it is set."""
        if type(self).user_response is not ChatAgent.user_response:
            return self.user_response(msg)
        return await run_async(self._ask_user(None if msg is None else _as_doc(msg)))

    def _ask_user(self, question: ChatDocument | None) -> Steps[ChatDocument | None]:
        text = self.default_human_response
        if text is None:
            prompt = question.content if question is not None else ""
            asked = self.callbacks.get_user_response
            awaited = self.callbacks.get_user_response_async
            text = yield Effect(
                sync=(lambda: asked(prompt=prompt)) if asked else (lambda: ask_on_terminal(prompt)),
                awaited=_calling(awaited, prompt) if awaited else None,
            )
        return human_answer(
            text or "", question, default=self.default_human_response, open_calls=self.record.open_calls
        )

    # --- history -----------------------------------------------------------------------------------------------

    @property
    def system_message(self) -> str:
        """The application's part of the system message."""
        own = self.record.system_message
        return self.config.system_message if own is None else own

    @property
    def user_message(self) -> str | None:
        """The first user message, where there is one."""
        own = self.record.user_message
        return self.config.user_message if own is None else own

    def set_system_message(self, message: str) -> None:
        """Replace the application's part of the system message, from the next model call on."""
        self.record.system_message = message

    def set_user_message(self, message: str) -> None:
        """Replace the first user message of the next conversation."""
        self.record.user_message = message

    def augment_system_message(self, message: str) -> None:
        """Add a paragraph to the application's part of the system message."""
        self.record.system_message = f"{self.system_message}\n\n{message}"

    def system_and_tools_message(self) -> LLMMessage:
        """The system message as the model gets it."""
        text = system_text(self.system_message, self.toolbox.sets, use_tools=self.config.use_tools)
        return LLMMessage(role=Role.SYSTEM, content=text)

    @property
    def task_messages(self) -> list[LLMMessage]:
        """What every conversation begins with: the system message, and the user message if there is one."""
        first = [self.system_and_tools_message()]
        if self.user_message:
            first.append(LLMMessage(role=Role.USER, content=self.user_message))
        return first

    def init_message_history(self) -> None:
        """Begin the history with the task messages."""
        self.message_history = self.task_messages

    def clear_history(self, start: int = -2) -> None:
        """Drop the messages from index `start` on; negative counts from the end."""
        messages = self.message_history
        if start < 0:
            start = max(0, len(messages) + start)
        del messages[start:]
        if not messages:
            self.record.open_calls = []

    def update_history(self, message: str, response: str) -> None:
        """Append a user message and the model's answer to it."""
        self.message_history.append(LLMMessage(role=Role.USER, content=message))
        self.message_history.append(LLMMessage(role=Role.ASSISTANT, content=response))

    def last_message_with_role(self, role: Role) -> LLMMessage | None:
        """The last message of that role, or None."""
        index = index_of_last(self.message_history, role)
        return self.message_history[index] if index >= 0 else None

    def nth_message_idx_with_role(self, role: Role, n: int) -> int:
        """The index of the n-th message (from 1) of that role, -1 if there are not so many."""
        return index_of_nth(self.message_history, role, n)

    def chat_num_tokens(self, messages: list[LLMMessage] | None = None) -> int:
        """About how many tokens the messages have (default: the history)."""
        return sum(estimated_tokens(m.content) for m in (self.message_history if messages is None else messages))

    def message_history_str(self, i: int | None = None) -> str:
        """The history as text: all of it, message `i`, or the last -i messages."""
        messages = self.message_history
        if i is not None:
            messages = messages[i:] if i < 0 else messages[i : i + 1]
        return "\n".join(f"{m.role.value}: {m.content}" for m in messages)

    def truncated(self, text: str, tokens: int) -> str:
        """The text, cut to about so many tokens, with a note that says so."""
        if estimated_tokens(text) <= tokens:
            return text
        kept = text.encode()[: tokens * 4].decode(errors="ignore")
        return f"{kept}\n[truncated: {len(text) - len(kept)} more characters]"


def _as_doc(msg: str | ChatDocument) -> ChatDocument:
    return ChatDocument.from_str(msg) if isinstance(msg, str) else msg


def _calling(function: Callable[..., Any], prompt: str) -> Callable[[], Awaitable[Any]]:
    async def call() -> Any:
        return await function(prompt=prompt)

    return call
