"""An agent's conversation with its model: the history, and what is read out of messages."""

from __future__ import annotations

from collections.abc import Callable

from turnwise.agents.agent import Agent
from turnwise.agents.config import ChatAgentConfig
from turnwise.agents.history import estimated_tokens, index_of_last, index_of_nth
from turnwise.agents.prompts import system_text
from turnwise.llm.base import LLMMessage, Role
from turnwise.messages.document import ChatDocument


class Conversation(Agent):
    """An agent with a history; `message_history[0]` is the system message once the model was asked."""

    def __init__(self, config: ChatAgentConfig | None = None) -> None:
        super().__init__(config)
        self._history: list[LLMMessage] | None = []
        # In a served run the history is read when somebody looks at it.
        self.history_source: Callable[[], list[LLMMessage]] | None = None
        # Where documents of earlier turns come from, when they are not in this process.
        self._lookup: Callable[[str], ChatDocument | None] | None = None
        self.init_state()

    @property
    def message_history(self) -> list[LLMMessage]:
        """The conversation with the model; the first message is the system message. Empty before the first call."""
        if self._history is None:
            self._history = self.history_source() if self.history_source is not None else []
        return self._history

    @message_history.setter
    def message_history(self, messages: list[LLMMessage]) -> None:
        self._history = messages

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

    def lookup_in(self, find: Callable[[str], ChatDocument | None]) -> None:
        """Look up earlier documents of the conversation with `find`."""
        self._lookup = find

    def lookup(self, document_id: str) -> ChatDocument | None:
        """A document of this conversation by id, wherever it is kept; None if it is gone."""
        found = ChatDocument.from_id(document_id)
        return found if found is not None or self._lookup is None else self._lookup(document_id)

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
