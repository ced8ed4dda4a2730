"""The base of every agent: its parts, and the tools that it may use and handles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from types import MappingProxyType
from typing import Any, ClassVar, Self

from pydantic import BaseModel

from turnwise.agents.alive import agent_of, register
from turnwise.agents.attributes.holder import Holder
from turnwise.agents.callbacks import Callbacks
from turnwise.agents.config import ChatAgentConfig
from turnwise.agents.history.agent_history import AgentHistory
from turnwise.agents.kept_state import AgentMemory
from turnwise.agents.output.output_format import OutputFormat
from turnwise.agents.tools import enabling
from turnwise.agents.tools.toolbox import Toolbox
from turnwise.base.ids import new_id
from turnwise.errors import ConfigurationError
from turnwise.integrations.retrieval.config import VectorStoreConfig
from turnwise.integrations.retrieval.store import VectorStore
from turnwise.messages.read_back import read_back
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tools.orchestration import HANDLED_BY_DEFAULT
from turnwise.models.base import OpenAIToolCall
from turnwise.models.budget.gate import current_gate
from turnwise.models.create import create_model
from turnwise.models.language_model import LanguageModel
from turnwise.models.tokens.usage import LLMTokenUsage


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
        self.callbacks = Callbacks()
        # In a served run: passes pieces of the model's text on to whoever watches the run.
        self.token_watcher: Callable[[str], None] | None = None
        self.toolbox = Toolbox()
        self.history = AgentHistory()
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
        register(self)
        self.init_state()

    @staticmethod
    def from_id(id: str) -> Agent | None:
        """The agent of that id, if it is alive in this process."""
        return agent_of(id)

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
                f"{type(self).__name__} cannot be cloned: calling it with its configuration alone failed ({error}); "
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

    def __reduce_ex__(self, protocol: Any) -> Any:
        # The messages of a copy are the same list, until either is given another one.
        made = super().__reduce_ex__(protocol)
        if isinstance(made, tuple) and len(made) > 2 and isinstance(made[2], dict) and "history" in made[2]:
            return (*made[:2], made[2] | {"history": copy(made[2]["history"])}, *made[3:])
        return made

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

    def init_state(self) -> None:
        """Forget the conversation and begin with a fresh `state`. Override it to reset attributes of your own."""
        self.history.forget()
        self.record.fitted = 0
        self.state = self._fresh_state()
        self.record.open_calls = []
        self.record.kept_message = None

    def _fresh_state(self) -> Any:
        return self.State() if self.State is not None else None

    def dump_state(self) -> dict[str, Any] | None:
        """The declared state as JSON-able data; None for an agent that declares none."""
        return self.state.model_dump(mode="json") if isinstance(self.state, BaseModel) else None

    def load_state(self, data: dict[str, Any] | None) -> None:
        """Take over a state written by `dump_state`; None begins with a fresh one."""
        kind = self.State
        if kind is None or data is None:
            self.state = self._fresh_state()
        else:
            self.state = read_back(kind, data, serialized=True)

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

    enable_message = enabling.enable_message
    enable_message_handling = enabling.enable_message_handling
    disable_message_handling = enabling.disable_message_handling
    disable_message_use = enabling.disable_message_use
    disable_message_use_except = enabling.disable_message_use_except
    unhandled_tools = enabling.unhandled_tools
    sample_multi_round_dialog = enabling.sample_multi_round_dialog

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
