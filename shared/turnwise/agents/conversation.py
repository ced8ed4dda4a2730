"""An agent's conversation with its model: the history, and what is read out of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from weakref import ref

from turnwise.agents.agent import Agent, living_agents
from turnwise.agents.config import ChatAgentConfig
from turnwise.agents.history.history import MessageHistory, calls_without_result, index_of_last, index_of_nth
from turnwise.agents.prompts import system_message, system_text, told_as_text, tool_advice, tool_rules
from turnwise.messages.document import ChatDocument
from turnwise.models.base import LLMMessage, Role
from turnwise.models.tokens.estimate import beginning, estimated_tokens, message_tokens


class ConversingAgent(Agent):
    """An agent with a history; `message_history[0]` is the system message once the model was asked."""

    def __init__(self, config: ChatAgentConfig | None = None) -> None:
        super().__init__(config)
        self._history: MessageHistory | None = MessageHistory()
        # In a served run the history is read when someone looks at it.
        self.history_source: Callable[[], MessageHistory] | None = None
        # Where documents of earlier turns come from, when they are not in this process.
        self._lookup: Callable[[str], ChatDocument | None] | None = None
        # Otherwise the last one of this agent's conversation, from which the others are found; weak, as they are large.
        self._last_document: ref[ChatDocument] | None = None
        self._forgotten_documents: frozenset[str] = frozenset()
        self.init_state()

    @property
    def message_history(self) -> list[LLMMessage]:
        """The conversation with the model; the first message is the system message. Empty before the first call.

        The list may be edited, its messages are values: put another one in the place of one that is to change.
        """
        return self.history()

    @message_history.setter
    def message_history(self, messages: list[LLMMessage]) -> None:
        self._history = self.history().replaced_by(messages)

    def history(self) -> MessageHistory:
        """The list behind `message_history`, which knows what of it was changed."""
        if self._history is None:
            self._history = self.history_source() if self.history_source is not None else MessageHistory()
        return self._history

    def message_history_unread(self) -> None:
        """Let the next look at the history read it from `history_source`."""
        self._history = None

    def held_history(self) -> MessageHistory | None:
        """The history, if it was looked at; None if it is still unread."""
        return self._history

    def init_state(self) -> None:
        """Forget the conversation and begin with a fresh `state`. Override it to reset attributes of your own."""
        self._history = MessageHistory()
        self.record.fitted = 0
        self.state = self._fresh_state()
        self.record.open_calls = []
        self.record.kept_message = None

    def lookup_in(self, find: Callable[[str], ChatDocument | None]) -> None:
        """Look up earlier documents of the conversation with `find`."""
        self._lookup = find

    def lookup(self, document_id: str) -> ChatDocument | None:
        """A document of this conversation by id, wherever it is kept; None if it is gone."""
        # In a served run not one that happens to be alive here: it may belong to another's transaction.
        if self._lookup is not None:
            return self._lookup(document_id)
        own = next((each for each in _back_from(self, set()) if each.metadata.id == document_id), None)
        return own if own is not None else ChatDocument.from_id(document_id)

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

    def set_system_message(self, msg: str) -> None:
        """Replace the application's part of the system message, from the next model call on."""
        self.record.system_message = msg
        if self._history:
            self._history.begin_with(self.system_and_tools_message())

    def set_user_message(self, msg: str) -> None:
        """Replace the message from USER that the next conversation begins with."""
        self.record.user_message = msg

    def augment_system_message(self, message: str) -> None:
        """Add a paragraph to the application's part of the system message."""
        self.set_system_message(f"{self.system_message}\n\n{message}")

    def json_format_rules(self) -> str:
        """Return how the model has to write each tool that it may use; "" if there is none. May be overridden.

        It stands in the system message after the application's text, with `use_tools`. Tools of one form are told
        together, by `json_group_instructions` and `format_instructions` of their classes.
        """
        return tool_rules(self.toolbox.sets)

    def tool_instructions(self) -> str:
        """Return what `instructions` of the usable tools tell the model of them; "" if nothing. May be overridden.

        It stands at the end of the system message, however tools are called.
        """
        return tool_advice(self.toolbox.sets)

    def system_and_tools_message(self) -> LLMMessage:
        """The system message as the model gets it: the application's text, and all that is said of tools."""
        output, sets, mine = self.answer_format, self.toolbox.sets, type(self)
        if (
            mine.json_format_rules is ConversingAgent.json_format_rules
            and mine.tool_instructions is ConversingAgent.tool_instructions
        ):
            return system_message(self.system_message, sets, use_tools=self.config.use_tools, output=output)
        rules = self.json_format_rules() if told_as_text(use_tools=self.config.use_tools, output=output) else ""
        text = system_text(self.system_message, rules, self.tool_instructions(), output)
        return LLMMessage(role=Role.SYSTEM, content=text)

    @property
    def task_messages(self) -> list[LLMMessage]:
        """Return what every conversation begins with: the system message, and the user message if there is one."""
        first = [self.system_and_tools_message()]
        if self.user_message:
            first.append(LLMMessage(role=Role.USER, content=self.user_message))
        return first

    def init_message_history(self) -> None:
        """Begin the history with the task messages."""
        self.message_history = self.task_messages

    def clear_history(self, start: int = -2, end: int = -1) -> None:
        """Drop the messages from index `start` to index `end`, that one included; negative counts from the end.

        The default drops the last two: what was asked, and the answer to it.
        """
        messages = self.message_history
        del messages[start : None if end == -1 else end + 1]
        self._see_open_calls()

    def update_history(self, message: str, response: str) -> None:
        """Append a user message and the model's answer to it."""
        self.message_history.append(LLMMessage(role=Role.USER, content=message))
        self.message_history.append(LLMMessage(role=Role.ASSISTANT, content=response))
        self._see_open_calls()

    def update_last_message(self, message: str, role: Role | str = Role.USER) -> None:
        """Put `message` in the place of the last content of that role, where there is one.

        For instance a question alone for a prompt that held long passages with it, once the model has answered.
        """
        index = self.last_message_idx_with_role(role)
        if index >= 0:
            self.message_history[index] = self.message_history[index].model_copy(update={"content": message})

    def delete_last_message(self, role: Role | str = Role.USER) -> None:
        """Drop the last message of that role, where there is one."""
        index = self.last_message_idx_with_role(role)
        if index >= 0:
            del self.message_history[index]
            self._see_open_calls()

    def truncate_message(
        self, idx: int, tokens: int = 5, warning: str = "...[Contents truncated!]", inplace: bool = True
    ) -> LLMMessage:
        """Message `idx` with only the first `tokens` tokens (about) of its content, and `warning` on a line below.

        One without content stays as it is. `inplace` puts it into the history, where the whole one is lost then. Raises
        `IndexError`.
        """
        message = self.message_history[idx]
        if not message.content.strip():
            return message
        shortened = message.model_copy(update={"content": f"{beginning(message.content, tokens)}\n{warning}"})
        if inplace:
            self.message_history[idx] = shortened
        return shortened

    def last_message_with_role(self, role: Role | str) -> LLMMessage | None:
        """The newest message of the history that has that role; None if there is none."""
        index = index_of_last(self.message_history, role)
        return self.message_history[index] if index >= 0 else None

    def last_message_idx_with_role(self, role: Role | str) -> int:
        """The index of the last message of that role, -1 if there is none."""
        return index_of_last(self.message_history, role)

    def nth_message_idx_with_role(self, role: Role | str, n: int) -> int:
        """The index of the n-th message (from 1) of that role, -1 if there are not so many."""
        return index_of_nth(self.message_history, role, n)

    def chat_num_tokens(self, messages: list[LLMMessage] | None = None) -> int:
        """About how many tokens the messages have (default: the history), as they count in a prompt.

        Exact where the model has a tokenizer at hand. What a history is sent shortened counts whole.
        """
        return self.num_tokens(self.message_history if messages is None else messages)

    def num_tokens(self, prompt: str | list[LLMMessage]) -> int:
        """About how many tokens a text has, or messages as they count in a prompt.

        Exact where the model has a tokenizer at hand.
        """
        count = self.llm.count_tokens if self.llm is not None else estimated_tokens
        return count(prompt) if isinstance(prompt, str) else sum(message_tokens(m, count) for m in prompt)

    def message_history_str(self, i: int | None = None) -> str:
        """The history as text, a line `role: content` for each message.

        With `i` of 0 or more only message `i`, with a negative one the last `-i` messages.
        """
        messages = self.message_history
        if i is not None:
            messages = messages[i:] if i < 0 else messages[i : i + 1]
        return "\n".join(f"{m.role.value}: {m.content}" for m in messages)

    def _see_open_calls(self) -> None:
        """After an edit: the open calls are those that the history ends with."""
        self.record.open_calls = calls_without_result(self.message_history)


class _AmongAgents:
    """Finds messages by their ids: back from the last one of each living agent, as far as they answer each other."""

    def find(self, document_id: str) -> ChatDocument | None:
        seen: set[int] = set()
        for agent in living_agents():
            if isinstance(agent, ConversingAgent):
                for document in _back_from(agent, seen):
                    if document.metadata.id == document_id:
                        return None if document_id in agent._forgotten_documents else document
        return None

    def forget(self, document_id: str) -> None:
        for agent in living_agents():
            if isinstance(agent, ConversingAgent):
                agent._forgotten_documents |= {document_id}


def _back_from(agent: ConversingAgent, seen: set[int]) -> Iterator[ChatDocument]:
    """The last message of the agent's conversation, what it answers, and so on; none that is in `seen`."""
    document = agent._last_document() if agent._last_document is not None else None
    while document is not None and id(document) not in seen:
        seen.add(id(document))
        yield document
        document = document.linked_parent


ChatDocument._known = _AmongAgents()
