"""A tool with which a model hands a piece of work to an agent that is made for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from turnwise.agents.chat_agent import ChatAgent
from turnwise.agents.config import ChatAgentConfig
from turnwise.base.call_context import CallPart, current_call, under
from turnwise.base.ids import new_id
from turnwise.errors import ConfigurationError
from turnwise.messages.document import ChatDocument
from turnwise.messages.document_metadata import ChatDocMetaData
from turnwise.messages.entity import Entity
from turnwise.messages.signals import escape_signals
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tools.orchestration import HANDLED_BY_DEFAULT, DoneTool
from turnwise.models.renaming import at_the_same_provider, other_model
from turnwise.tasks.task import Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnwise.models.language_model import LanguageModel

# Sub-agents that are at work around this call, each made by the one before.
DEPTH = CallPart(0)

_TURNS = 10
_STEERING = frozenset(tool.name() for tool in HANDLED_BY_DEFAULT)
_NAME = re.compile(r"[\w .-]{1,60}")
_HANDLERS = ("handle", "handle_async", "response", "response_async")


class TaskTool(ToolMessage):
    """Lets a model give work to a sub-agent, made for it with the tools that the model names: `task_tool`.

    - `system_message`: what the sub-agent is told it is for; `prompt`: what it is to do. It sees nothing else of the
      conversation.
    - `tools`: names of tools that it may use, of those that the agent knows: `["ALL"]` for every one but those that
      steer conversations, `["NONE"]` for none. A tool that only sub-agents are to use is enabled with `use=False,
      handle=False`. It has `DoneTool` in any case, with which it ends. Handlers have to be the tools' own, as it is no
      agent of the application's class: another tool is an error for the model, and none of `["ALL"]`.
    - `model`: the name of another model, at the same provider or server as the agent's own; its own by default.
    - `max_iterations`: so many steps at most, 10 by default; `agent_name`: its name in logs, at most
      60 letters, digits, blanks, `_`, `.` and `-`; any other is replaced by one that is made.

    The sub-agent runs without a human, and what it uses counts toward the run. A sub-agent that is given `task_tool`
    may make others, in all `_max_depth` deep. In a served run the tool's message is on record with all of this, and the
    sub-agent works within the handling of the tool: its own steps are not on record, and if its worker is lost, a
    person is asked whether to run it again, as of any tool whose effect is "once".
    """

    # How deep sub-agents may make sub-agents; a subclass may set another.
    _max_depth: int = 3

    request: str = "task_tool"
    purpose: str = (
        "To give a piece of work to a sub-agent, which runs on its own with the <tools> that you name, and get its "
        "result."
    )
    system_message: str | None = Field(
        ...,
        description="Who the sub-agent is and what it is for, with all the context that the work needs: it does not "
        "see your conversation. Say when it has to use which tool.",
    )
    prompt: str = Field(..., description="What the sub-agent is to work on now, as a user would put it.")
    tools: list[str] = Field(
        ...,
        description='Names of the tools that the sub-agent may use, of those that you know; ["ALL"] for all of them, '
        '["NONE"] for none.',
    )
    model: str | None = Field(None, description="The name of the model to use; leave it out to use your own.")
    max_iterations: int | None = Field(None, ge=1, description="The greatest number of steps; 10 if left out.")
    agent_name: str | None = Field(None, description="A name for the sub-agent.")

    _text_if_silent: ClassVar[str] = "The sub-agent ended without a result."

    def handle(self, agent: ChatAgent, chat_doc: ChatDocument | None = None) -> ChatDocument | str:
        """Run the sub-agent and return its result; a text for the model if it could not be made."""
        task = self._task(agent)
        if isinstance(task, str):
            return task
        with under(DEPTH, current_call()[DEPTH] + 1):
            result = task.run(self._question(agent, chat_doc), turns=self.max_iterations or _TURNS)
        return self._text_if_silent if result is None else result

    async def handle_async(self, agent: ChatAgent, chat_doc: ChatDocument | None = None) -> ChatDocument | str:
        """The same as `handle`, without blocking the event loop."""
        task = self._task(agent)
        if isinstance(task, str):
            return task
        with under(DEPTH, current_call()[DEPTH] + 1):
            result = await task.run_async(self._question(agent, chat_doc), turns=self.max_iterations or _TURNS)
        return self._text_if_silent if result is None else result

    def _task(self, agent: ChatAgent) -> Task[Any] | str:
        """The sub-agent's task, or what is wrong with what the model asked for."""
        deepest: int = self.private_default("_max_depth")
        if current_call()[DEPTH] >= deepest:
            return f"ERROR: sub-agents are already {deepest} deep; do this without `{self.request}`."
        known = {name: tool for name, tool in agent.llm_tools_map.items() if tool.private_default("_allow_llm_use")}
        unknown = sorted(set(self.tools) - set(known) - {"ALL", "NONE"})
        if unknown:
            return f"ERROR: no tool {', '.join(unknown)}; tools for a sub-agent are: {', '.join(sorted(known))}."
        unhandled = [name for name in self.tools if name in known and not _brings_handler(known[name])]
        if unhandled:
            names = ", ".join(f"`{name}`" for name in unhandled)
            return (
                f"ERROR: {names} has no handler of its own, so a sub-agent cannot use it; use it yourself, or name "
                "other tools."
            )
        try:
            sub_agent = self._sub_agent(agent)
        except ConfigurationError as error:
            return f"ERROR: {error}"
        sub_agent.enable_message([*self._named(known), DoneTool])
        return Task(sub_agent, interactive=False)

    def _named(self, known: dict[str, type[ToolMessage]]) -> Sequence[type[ToolMessage]]:
        if "ALL" in self.tools:
            left_out = {*_STEERING, self.request}
            return [tool for name, tool in known.items() if name not in left_out and _brings_handler(tool)]
        return [known[name] for name in dict.fromkeys(self.tools) if name != "NONE"]

    def _sub_agent(self, agent: ChatAgent) -> ChatAgent:
        """The sub-agent without tools; raises `ConfigurationError` for a model that may not be asked."""
        done, llm = DoneTool.name(), self._llm(agent)
        told = f"{self.system_message or ''}\n\nWhen you have finished, use the tool `{done}` to return the result."
        # The reminder is AGENT's own text, which would end or send the conversation by a signal in the prompt.
        work = escape_signals(self.prompt)
        config = ChatAgentConfig(
            name=self._name(),
            llm=None,
            system_message=told.strip(),
            handle_llm_no_tool=f"You used no tool. Use one of your tools to go on, or `{done}` to return the result, "
            f"if you have finished. Your work is:\n\n{work}",
        )
        sub_agent = ChatAgent(config)
        sub_agent.llm = llm
        return sub_agent

    def _name(self) -> str:
        """The name that the model gives, if it is one: it stands in lines of logs and in names of files."""
        given = self.agent_name or ""
        return given if _NAME.fullmatch(given) else new_id("agent")

    def _llm(self, agent: ChatAgent) -> LanguageModel | None:
        """The model to ask: the agent's own, or the one that is named; raises `ConfigurationError` if it may not be."""
        own = agent.llm
        if own is None or not self.model or self.model == own.config.chat_model:
            return own
        if not at_the_same_provider(own.config, self.model):
            raise ConfigurationError(
                f"the model {self.model!r} is not at the provider of {own.config.chat_model!r}; leave `model` out, or "
                "name one that is"
            )
        return other_model(own, self.model)

    def _question(self, agent: ChatAgent, doc: ChatDocument | None) -> ChatDocument:
        """The prompt as from AGENT, so that the sub-agent's model is the first to answer it."""
        meta = ChatDocMetaData(agent_id=agent.id, sender=Entity.AGENT, source=Entity.LLM)
        if doc is not None:
            meta = meta.model_copy(update={"parent_id": doc.id(), "tainted": doc.metadata.tainted})
        return ChatDocument(content=self.prompt, metadata=meta)


def _brings_handler(tool: type[ToolMessage]) -> bool:
    return any(hasattr(tool, name) for name in _HANDLERS)
