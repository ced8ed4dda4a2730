"""The base of every agent: settings, a model, tools, and the memory that lasts between turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any, ClassVar, Self
from weakref import WeakValueDictionary

from pydantic import BaseModel

from turnwise.agents.attributes.holder import Holder
from turnwise.agents.callbacks import Callbacks
from turnwise.agents.config import ChatAgentConfig
from turnwise.agents.kept_state import AgentMemory
from turnwise.agents.output.output_format import OutputFormat
from turnwise.agents.tools.toolbox import Toolbox
from turnwise.base.ids import new_id
from turnwise.errors import ConfigurationError
from turnwise.integrations.retrieval.config import VectorStoreConfig
from turnwise.integrations.retrieval.store import VectorStore
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tools.orchestration import HANDLED_BY_DEFAULT
from turnwise.models.base import OpenAIToolCall
from turnwise.models.budget.gate import current_gate
from turnwise.models.create import create_model
from turnwise.models.language_model import LanguageModel
from turnwise.models.tokens.usage import LLMTokenUsage

ToolClasses = type[ToolMessage] | Sequence[type[ToolMessage]] | None


class Agent(Holder):
    """The base of every agent: settings, a model, and the tools that it may use and handles.

    Programs make `ChatAgent`s; this class is there for annotations and for `isinstance`.
    """

    _offered_as: ClassVar[str] = "agent"

    # A subclass declares its state as `class State(BaseModel)`: it lasts between turns, in served runs too.
    State: type[BaseModel] | None = None

    def __init__(self, config: ChatAgentConfig | None = None) -> None:
        self.config = config if config is not None else ChatAgentConfig()
        self.id = new_id("agent")
        _alive[self.id] = self
        self.callbacks = Callbacks()
        # In a served run: passes pieces of the model's text on to whoever watches the run.
        self.token_watcher: Callable[[str], None] | None = None
        self.toolbox = Toolbox()
        self.record = AgentMemory()
        self.usage = LLMTokenUsage()
        # The agent that this one is a copy of with another output format: what a copy uses is its usage, too.
        self.copied_from: Agent | None = None
        # What the model's answers have to be; None for any text.
        self.answer_format: OutputFormat | None = None
        # The model that the usage was counted for, where it is not the agent's own.
        self.other_model: str | None = None
        self.default_human_response: str | None = None
        self.state: Any = self._fresh_state()
        self._llm: LanguageModel | None = create_model(self.config.llm)
        # The tool whose handler runs, for the record of an error.
        self.tool_in_hand: str | None = None
        # The tools that were handled for the last message, for whoever counts them.
        self.tools_handled: list[str] = []
        if self.config.enable_orchestration_tool_handling:
            for tool in HANDLED_BY_DEFAULT:
                self.toolbox.enable(tool, use=False, handle=True)

    @staticmethod
    def from_id(id: str) -> Agent | None:
        """The agent of that id, if it is alive in this process."""
        return _alive.get(id)

    def clone(self, i: int = 0) -> Self:
        """A fresh agent of the same class, named `<name>-<i>`: same model, tools and messages, an empty history.

        The class is called with the configuration alone; one whose constructor needs more overrides `clone`. Raises
        `ConfigurationError` if it does not.
        """
        config = self.config.model_copy(update={"name": f"{self.config.name}-{i}"})
        try:
            other = type(self)(config)
        except TypeError as error:
            raise ConfigurationError(
                f"{type(self).__name__} can not be cloned: calling it with its configuration alone failed ({error}); "
                "give its other parameters defaults, or override clone()"
            ) from error
        other._llm = self._llm
        other.toolbox = self.toolbox.copy()
        other.callbacks = copy(self.callbacks)
        other.default_human_response = self.default_human_response
        other.answer_format = self.answer_format
        kept = {"system_message", "user_message", "forced_tool", "output_format"}
        other.record = AgentMemory(**self.record.model_dump(include=kept))
        return other

    @property
    def llm(self) -> LanguageModel | None:
        """The model's client, None for an agent without a model."""
        return self._llm

    @llm.setter
    def llm(self, model: LanguageModel | None) -> None:
        self._llm = model

    @property
    def vecdb(self) -> VectorStore | None:
        """The vector store of the configuration, None without one; what its embedder costs counts as the agent's."""
        store = self.config.vecdb
        if not isinstance(store, VectorStoreConfig):
            return store
        return store.open().counting(self.add_usage)

    def _fresh_state(self) -> Any:
        return self.State() if self.State is not None else None

    def dump_state(self) -> dict[str, Any] | None:
        """The declared state as JSON-able data; None for an agent that declares none."""
        return self.state.model_dump(mode="json") if isinstance(self.state, BaseModel) else None

    def load_state(self, data: dict[str, Any] | None) -> None:
        """Take over a state written by `dump_state`; None begins with a fresh one."""
        kind = self.State
        self.state = self._fresh_state() if kind is None or data is None else kind.model_validate(data)

    def count_usage(self, usage: LLMTokenUsage, model: str | None = None) -> None:
        """Add what a model call of the program's own used, to the agent's usage and its run's.

        `model` names the model if it is not the agent's own, such as an embedder's.
        """
        gate = current_gate()
        if gate is not None:
            gate.count(usage)
        self.add_usage(usage, model)

    @property
    def total_llm_token_usage(self) -> int:
        """Tokens that the agent has used, prompts and answers."""
        return self.usage.total_tokens

    @property
    def total_llm_token_cost(self) -> float:
        """USD that the agent has used; what has no known price counts as 0."""
        return float(self.usage.cost or 0)

    def add_usage(self, usage: LLMTokenUsage, model: str | None = None) -> None:
        """Add what a call used that its run has counted."""
        self.usage = self.usage.plus(usage)
        self.other_model = model or self.other_model
        if self.copied_from is not None:
            self.copied_from.add_usage(usage, model)

    @property
    def oai_tool_calls(self) -> list[OpenAIToolCall]:
        """API calls of the model's last message that have no result yet."""
        return self.record.open_calls

    @oai_tool_calls.setter
    def oai_tool_calls(self, calls: list[OpenAIToolCall]) -> None:
        self.record.open_calls = list(calls)

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

        `force` makes the model's API call exactly this tool (with `use_functions_api`), until it is enabled without.
        `require_recipient` adds a field that the model must fill in. `include_defaults` tells the model of fields with
        defaults, too. Raises `ConfigurationError` for what is no tool class, for a tool without a name, and for a
        second tool that is not in a list.
        """
        if any(isinstance(given, type) for given in (use, handle)):
            raise ConfigurationError(
                "enable_message() was given several tools as arguments, but the second says whether the model may use "
                "the first; give them as one list: enable_message([A, B])"
            )
        for tool in self._classes(message_class):
            self.toolbox.enable(
                tool,
                use=use,
                handle=handle,
                require_recipient=require_recipient,
                include_defaults=include_defaults,
            )
            if force:
                self.record.forced_tool = tool.name()
            elif self.record.forced_tool == tool.name():
                self.record.forced_tool = None

    def enable_message_handling(self, message_class: ToolClasses = None) -> None:
        """Let the agent handle the tool (None: every known one), and leave open whether its model may use it."""
        for tool in self._classes(message_class):
            self.toolbox.enable(tool, use=tool.name() in self.toolbox.usable, handle=True)

    def disable_message_handling(self, message_class: type[ToolMessage] | None = None) -> None:
        """Let the agent no longer handle the tool (None: any)."""
        self.toolbox.restrict(
            self.toolbox.handled, None if message_class is None else [_tool_class(message_class).name()]
        )

    def disable_message_use(self, message_class: type[ToolMessage] | None = None) -> None:
        """Let the model no longer use the tool (None: any)."""
        self.toolbox.restrict(
            self.toolbox.usable, None if message_class is None else [_tool_class(message_class).name()]
        )

    def disable_message_use_except(self, message_class: type[ToolMessage]) -> None:
        """Let the model use only this one of its tools."""
        self.toolbox.restrict(self.toolbox.usable, self.toolbox.usable - {_tool_class(message_class).name()})

    def unhandled_tools(self) -> set[str]:
        """Names of the tools that are known but not handled."""
        return set(self.toolbox.known) - self.toolbox.handled

    @property
    def llm_tools_map(self) -> Mapping[str, type[ToolMessage]]:
        """The known tools by name; read-only, changed by `enable_message` and its neighbours."""
        return MappingProxyType(self.toolbox.known)

    @property
    def llm_tools_known(self) -> frozenset[str]:
        """Return what tools the agent can read in a message, by name, whether it handles them or not."""
        return frozenset(self.toolbox.known)

    @property
    def llm_tools_usable(self) -> frozenset[str]:
        """Names of the tools that the model is told of."""
        return self.toolbox.sets.usable

    @property
    def llm_tools_handled(self) -> frozenset[str]:
        """Names of the tools that the agent handles."""
        return self.toolbox.sets.handled

    def sample_multi_round_dialog(self) -> str:
        """Examples of at most two usable tools, a random one of each, as text for a prompt; "" if there are none."""
        tools = [self.toolbox.known[name] for name in sorted(self.toolbox.usable)]
        examples = [text for tool in tools if (text := tool.usage_examples(random=True))]
        return "\n\n".join(examples[:2])

    def _classes(self, message_class: ToolClasses) -> list[type[ToolMessage]]:
        if message_class is None:
            return list(self.toolbox.known.values())
        given: Any = message_class
        is_one = isinstance(given, type | str) or not isinstance(given, Iterable)
        return [_tool_class(each) for each in ([given] if is_one else given)]


def _tool_class(given: Any) -> type[ToolMessage]:
    if isinstance(given, type) and issubclass(given, ToolMessage):
        return given
    found = f"the class {given.__name__}" if isinstance(given, type) else f"{given!r} ({type(given).__name__})"
    raise ConfigurationError(f"{found} is no tool; give a subclass of ToolMessage, or a list of them")


# Weak: an agent lives as long as someone holds it.
_alive: WeakValueDictionary[str, Agent] = WeakValueDictionary()


def living_agents() -> list[Agent]:
    """Return the agents of this process."""
    return list(_alive.values())
