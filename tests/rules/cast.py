"""The people of a scenario: scripted models, agents over them, tasks over these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from tests.support.own_models import Asked, OwnModel

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    LLMConfig,
    LLMMessage,
    LLMResponse,
    LLMTokenUsage,
    Role,
    Task,
    TaskConfig,
    ToolMessage,
)

# A text, an answer with calls, or a function of the last message's content to either.
Line = str | LLMResponse | Callable[[str], str | LLMResponse]
# By agent, the prompts that its model was sent, in order.
Prompts = dict[str, list[list[LLMMessage]]]

# What each answer of a scripted model costs.
PRICE = Decimal("0.01")
PROMPT_TOKENS, COMPLETION_TOKENS = 10, 5


class ScriptedModel(OwnModel):
    """Says its n-th line to a history that holds n - 1 answers; a last line that is a function is said again and again.

    The place in the script is read from the history, so a model needs no memory between two turns, and an agent that
    begins afresh begins its script afresh.
    """

    def __init__(self, config: LLMConfig, name: str, lines: Sequence[Line], prompts: Prompts) -> None:
        super().__init__(self._next, config)
        self._name = name
        self._lines = lines
        self._prompts = prompts

    def most_usage(self, prompt_tokens: int, max_tokens: int) -> LLMTokenUsage:
        """What a call takes is known beforehand only where the scenario bounds the answer."""
        if "max_output_tokens" not in self.config.model_fields_set:
            return LLMTokenUsage(calls=1)
        return LLMTokenUsage(prompt_tokens=PROMPT_TOKENS, completion_tokens=max_tokens, cost=PRICE, calls=1)

    def _next(self, asked: Asked) -> LLMResponse:
        messages = asked.messages
        self._prompts.setdefault(self._name, []).append(list(messages))
        said = sum(message.role == Role.ASSISTANT for message in messages)
        if said >= len(self._lines) and not callable(self._lines[-1]):
            raise AssertionError(f"{self._name} has only {len(self._lines)} lines, but was asked once more")
        line = self._lines[min(said, len(self._lines) - 1)]
        answer = line if isinstance(line, str | LLMResponse) else line(messages[-1].content)
        response = LLMResponse(message=answer) if isinstance(answer, str) else answer
        used = LLMTokenUsage(prompt_tokens=PROMPT_TOKENS, completion_tokens=COMPLETION_TOKENS, cost=PRICE, calls=1)
        return response.model_copy(update={"usage": used})


class Cast:
    """Makes the agents and tasks of one scenario; what their models are sent is written to `prompts`."""

    def __init__(self, prompts: Prompts) -> None:
        self._prompts = prompts

    def agent(
        self,
        name: str,
        *lines: Line,
        tools: Sequence[type[ToolMessage]] = (),
        kind: type[ChatAgent] = ChatAgent,
        llm: LLMConfig | None = None,
        **config: Any,
    ) -> Any:
        """An agent whose model says `lines` (none: it has no model), which uses and handles `tools`."""
        settings = llm or LLMConfig(type="mock")
        agent = kind(ChatAgentConfig(name=name, llm=settings if lines else None, **config))
        if lines:
            agent.llm = self.model(settings, name, lines)
        agent.enable_message(list(tools))
        return agent

    def model(self, settings: LLMConfig, name: str, lines: Sequence[Line]) -> ScriptedModel:
        """The model of the agent of that name."""
        return ScriptedModel(settings, name, lines, self._prompts)

    def task(
        self,
        name: str | ChatAgent,
        *lines: Line,
        tools: Sequence[type[ToolMessage]] = (),
        subs: Sequence[Task] = (),
        kind: type[Task] = Task,
        agent: dict[str, Any] | None = None,
        config: TaskConfig | None = None,
        **arguments: Any,
    ) -> Task:
        """A task that is not interactive, over an agent or a new one of that name; `agent` are settings of it."""
        made = name if isinstance(name, ChatAgent) else self.agent(name, *lines, tools=tools, **(agent or {}))
        task = kind(made, config=config, **{"interactive": False, **arguments})
        task.add_sub_task(list(subs))
        return task
