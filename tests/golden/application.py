"""Every scenario as a task of an application: what a user's module would hold, with models behind HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from turnwise import App, ChatAgent, OpenAIGPTConfig, Task

from . import model
from .chosen import third
from .model import load_all
from .team import Team


class Count(BaseModel):
    value: int = 0


class Counting(ChatAgent):
    """An agent whose counter lasts between turns, and over restarts of its conversation."""

    State = Count
    state: Count

    def init_state(self) -> None:
        kept = self.state
        super().init_state()
        self.state = kept


class Outside:
    """Surroundings whose model is a server's, and whose human answers over HTTP."""

    task_class: type[Task[Any]] = Task
    agent_class = Counting

    def __init__(self, scenario: model.Scenario) -> None:
        self._scenario = scenario

    def model(self, agent: model.Agent) -> OpenAIGPTConfig | None:
        if agent.llm is None:
            return None
        # The prefix names the server that OPENAI_BASE_URL is set to; the server is told the rest.
        chat_model = f"openai/{model_name(self._scenario.id, agent.name)}"
        return OpenAIGPTConfig(chat_model=chat_model, timeout=90)

    def settle(self, agent: ChatAgent) -> None:
        """Nothing: nobody watches."""

    def count(self, agent: ChatAgent) -> int:
        if len(self._scenario.runs) > 1 and not self._scenario.continues:
            # Nothing of an agent lasts from one run to the next, so what shall last is kept elsewhere.
            return _count_in_file(f"{self._scenario.id}-{agent.config.name}")
        state: Count = agent.state
        state.value += 1
        return state.value


def _count_in_file(name: str) -> int:
    """One byte for each count, in the directory that the processes of an installation share."""
    with Path(f"{name}.count").open("ab") as file:
        file.write(b".")
        return file.tell()


def model_name(scenario: str, agent: str) -> str:
    """Return the name of an agent's model on the model server."""
    return f"{scenario}/{agent}"


def application(scenarios: Iterable[model.Scenario]) -> App:
    """An application with a task for each scenario, named by its id."""
    made = App("recorded")
    for scenario in scenarios:
        _register(made, scenario)
    return made


def _register(app: App, scenario: model.Scenario) -> None:
    @app.task(name=scenario.id)
    def build() -> Task:
        return Team(scenario, Outside(scenario)).root


everything = application(load_all())
a_third = application(third())
