"""An agent: who answers as AGENT, LLM and USER of a task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from turnwise.agents import dispatch, model_turn
from turnwise.agents.format_setting import FormatSetting
from turnwise.agents.human_reply import human_reply
from turnwise.effects import Steps, run_async, run_sync
from turnwise.entity import Entity
from turnwise.messages.document import ChatDocument
from turnwise.messages.finding import Found, find_tools, tool_attempt
from turnwise.messages.human import human_answer
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.toolset import AgentFacts

Responder = Callable[[str | ChatDocument | None], ChatDocument | None]
AsyncResponder = Callable[[str | ChatDocument | None], Awaitable[ChatDocument | None]]


class ChatAgent(FormatSetting):
    """A model with tools and a history.

    Handlers of tools are methods named like the tool's `request`. A subclass may override `agent_response`,
    `llm_response`, `user_response` and `handle_message_fallback`.
    """

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
        )

    def is_silent(self) -> bool:
        """Whether AGENT certainly answers nothing to a message without a tool that it handles."""
        mine, base = type(self), ChatAgent
        return (
            self.config.handle_llm_no_tool is None
            and self.answer_format is None
            and self.toolbox.fallback is None
            and mine.handle_message_fallback is base.handle_message_fallback
            and mine.agent_response is base.agent_response
            and mine.agent_response_async is base.agent_response_async
        )

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

    def entity_responders(self) -> list[tuple[Entity, Responder]]:
        """Who answers as each of the agent's entities, in the order in which a task asks them."""
        return [
            (Entity.AGENT, self.agent_response),
            (Entity.LLM, self.llm_response),
            (Entity.USER, self.user_response),
        ]

    def entity_responders_async(self) -> list[tuple[Entity, AsyncResponder]]:
        """The same for an event loop."""
        return [
            (Entity.AGENT, self.agent_response_async),
            (Entity.LLM, self.llm_response_async),
            (Entity.USER, self.user_response_async),
        ]

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

    # --- LLM ---------------------------------------------------------------------------------------------------

    def llm_can_respond(self, message: str | ChatDocument | None = None) -> bool:
        """Whether there is a model, and no tool in the message that the agent handles."""
        return self._llm is not None and not self.get_tool_messages(message)

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
        """The model's answer, after which the history is as it was. An override of `llm_response` is not asked."""
        return run_sync(model_turn.one_off(self, message))

    async def llm_response_forget_async(self, message: str | ChatDocument) -> ChatDocument | None:
        """The same, without blocking the event loop."""
        return await run_async(model_turn.one_off(self, message))

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
            text = yield human_reply(self.callbacks, question)
        return human_answer(
            text or "", question, default=self.default_human_response, open_calls=self.record.open_calls
        )


def _as_doc(msg: str | ChatDocument) -> ChatDocument:
    return ChatDocument.from_str(msg) if isinstance(msg, str) else msg
