"""An agent's answers as AGENT: the tools that it reads out of messages, and what their handlers say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import ValidationError

from turnwise.agents.output.format_setting import FormatSetting
from turnwise.agents.tools import dispatch
from turnwise.agents.tools.handler_lookup import BroughtHandler, brought_handler, handler_value
from turnwise.base.sync_async import run_async, run_sync
from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tool_parsing import Found, accepts, explain, find_tools, tool_attempt
from turnwise.messages.toolset import AgentFacts

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


class ToolHandling(FormatSetting):
    """An agent that answers messages with tools in them."""

    # Whether the application's own code answers as LLM; said once for a class, because each move asks.
    _own_llm: ClassVar[bool] = False

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

    def method_named(self, name: str) -> Callable[..., Any] | None:
        """Return the agent's own method of that name, None if it has none; a handler in a tool's class is not its own.

        Asked for each call of a tool, mostly for names that the agent does not have.
        """
        kind, unread = type(self), self.__dict__.get("_unread")
        if (
            name in self.__dict__
            or hasattr(kind, name)
            or kind.__getattr__ is not ToolHandling.__getattr__  # type: ignore[attr-defined]  # hidden from it
            or (unread is not None and unread.has_for(self, name))
        ):
            found = getattr(self, name, None)
            return found if callable(found) and not isinstance(found, BroughtHandler) else None
        return None

    def facts(self) -> AgentFacts:
        """The agent as the rules of a task see it."""
        return AgentFacts(
            name=self.config.name,
            tools=self.toolbox.sets,
            has_llm=self._llm is not None,
            silent=self.is_silent(),
            respond_tools_only=self.config.respond_tools_only,
            accept_user_tools=self.config.accept_user_tools,
            infers_tools=self.answer_format is None or self.answer_format.tool is not None,
            open_calls=tuple(self.record.open_calls),
            history_len=len(self._history or ()),
            own_llm=self._own_llm,
        )

    def is_silent(self) -> bool:
        """Return whether AGENT certainly answers nothing to a message without a tool that it handles."""
        mine, base = type(self), ToolHandling
        return (
            self.config.handle_llm_no_tool is None
            and self.answer_format is None
            and self.toolbox.fallback is None
            and mine.handle_message_fallback is base.handle_message_fallback
            and mine.agent_response is base.agent_response
            and mine.agent_response_async is base.agent_response_async
            and mine.handle_message is base.handle_message
            and mine.handle_message_async is base.handle_message_async
        )

    # --- reading -----------------------------------------------------------------------------------------------

    def found(self, doc: ChatDocument) -> Found:
        """The tools in a message, as this agent sees them."""
        return find_tools(doc, self.facts())

    def get_tool_messages(self, msg: str | ChatDocument | None, all_tools: bool = False) -> list[ToolMessage]:
        """The tools in a message that this agent handles; with `all_tools`, every one that it knows.

        Tools that are attached to the message come first, then those in its text, then API calls. What a human typed
        is filtered (see `Trust` in the docs). A tool with bad fields is not among them: see `handle_message`.
        """
        if msg is None:
            return []
        found = self.found(as_document(msg))
        return list(found.tools if all_tools else found.mine)

    def try_get_tool_messages(self, msg: str | ChatDocument | None, all_tools: bool = False) -> list[ToolMessage]:
        """The same as `get_tool_messages`, which raises for no message."""
        return self.get_tool_messages(msg, all_tools)

    def get_json_tool_messages(self, input_str: str) -> list[ToolMessage]:
        """The tools written in a text, of those that this agent knows, read as if its own model had written them."""
        return list(self.found(self.create_llm_response(input_str)).tools)

    def has_tool_message_attempt(self, msg: str | ChatDocument | None) -> bool:
        """Return whether a task treats the message as a use of a tool, not as text.

        So it does if a tool is attached to it, or if the model wrote a tool that this agent handles, or wrote a known
        one with bad fields.
        """
        return msg is not None and tool_attempt(as_document(msg), self.facts())

    def has_only_unhandled_tools(self, msg: str | ChatDocument) -> bool:
        """Return whether the message holds known tools, and this agent handles none of them."""
        tools = self.get_tool_messages(msg, all_tools=True)
        return bool(tools) and not any(tool.request in self.toolbox.handled for tool in tools)

    def can_respond(self, message: str | ChatDocument | None = None) -> bool:
        """Return whether a sub-task of this agent would be asked; False if it could do nothing with the message.

        That is one with tools of which the agent handles none, and a plain text where `respond_tools_only` is set.
        """
        return message is None or accepts(self.facts(), as_document(message))

    # --- answering ---------------------------------------------------------------------------------------------

    def agent_response(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        """Return AGENT's answer: results of tools, their faults, or the fallback's answer; None for nothing.

        Callbacks are told, and results are matched to the API calls that they answer. Errors of handlers propagate.
        """
        return None if msg is None else run_sync(dispatch.answer(self._whole, as_document(msg)))

    async def agent_response_async(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        """The same as `agent_response`, awaiting handlers that have an async twin."""
        if type(self).agent_response is not ToolHandling.agent_response:
            return self.agent_response(msg)
        return None if msg is None else await run_async(dispatch.answer(self._whole, as_document(msg)))

    def handle_message(self, msg: str | ChatDocument) -> Any:
        """Handle the tools in a message, and return what `agent_response` makes its answer of. May be overridden.

        Returns a text where the result is nothing but that; the results by call id where several API calls were
        answered; a `ChatDocument` for anything else; None if there is nothing to say. Without a tool it is the
        fallback's answer, with bad fields `tool_validation_error`'s. Errors of handlers propagate.
        """
        return dispatch.bare(run_sync(dispatch.handled(self._whole, as_document(msg))))

    async def handle_message_async(self, msg: str | ChatDocument) -> Any:
        """The same as `handle_message`, awaiting handlers that have an async twin."""
        if type(self).handle_message is not ToolHandling.handle_message:
            return self.handle_message(msg)
        return dispatch.bare(await run_async(dispatch.handled(self._whole, as_document(msg))))

    def handle_tool_message(self, tool: ToolMessage, chat_doc: ChatDocument | None = None) -> Any:
        """Call the handler of one tool, and return what it returns; None if there is no handler.

        `chat_doc` is the message that holds the tool, for handlers that take it. Override it to do something around
        every handler, such as asking for a permission. Errors of handlers propagate.
        """
        return run_sync(handler_value(self._whole, tool, chat_doc))

    async def handle_tool_message_async(self, tool: ToolMessage, chat_doc: ChatDocument | None = None) -> Any:
        """The same as `handle_tool_message`, awaiting a handler that has an async twin."""
        if type(self).handle_tool_message is not ToolHandling.handle_tool_message:
            return self.handle_tool_message(tool, chat_doc)
        return await run_async(handler_value(self._whole, tool, chat_doc))

    def handle_message_fallback(self, msg: str | ChatDocument) -> Any:
        """The answer to a message without a tool that this agent handles; None for no answer.

        By default what `ChatAgentConfig.handle_llm_no_tool` says. May be overridden, and may return what a handler may:
        a text, a tool, a document, any value.
        """
        return dispatch.default_fallback(self._whole, as_document(msg))

    def tool_validation_error(self, ve: ValidationError, tool_class: type[ToolMessage] | None = None) -> str:
        """Return what the model is told of a tool with bad fields: the tool, each field and why, and to write it again.

        `ve` is pydantic's error, and `tool_class` the tool (None: the one that the error's `title` names). May be
        overridden, with the first parameter alone as well.
        """
        if tool_class is not None:
            return explain(tool_class.name() or tool_class.__name__, ve)
        titled = (name for name, tool in self.toolbox.known.items() if ve.title in (tool.__name__, name))
        return explain(next(titled, ve.title), ve)

    @property
    def _whole(self) -> ChatAgent:
        return cast("ChatAgent", self)  # this is never the whole class of an agent


def as_document(msg: str | ChatDocument) -> ChatDocument:
    """A text as a document from USER; a document itself."""
    return ChatDocument.from_str(msg) if isinstance(msg, str) else msg
