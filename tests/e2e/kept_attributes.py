"""An application whose programs keep attributes, and wait where a test wants to kill them.

While the file `hold-model-N` is there, the model of each scenario waits with its answer to a history that holds N
answers; while `hold-handler` is, a handler waits that has changed the attributes of its agent and has not returned.
Whoever waits makes a file that begins with `at-`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.rules.cases import attribute_types, attributes, attributes_in_programs, attributes_of_tasks
from tests.rules.cast import Cast, Line, Prompts, ScriptedModel
from tests.rules.scenario import Scenario, not_over_http, scenario
from tests.rules.words import tool
from tests.support.own_models import Asked

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    LLMConfig,
    LLMResponse,
    Role,
    StatusCode,
    Task,
    ToolMessage,
)

FOLDER = "KEPT_ATTRIBUTES_FOLDER"
_PAUSE = 0.02


def hold(place: str, scenario_id: str) -> None:
    """Wait here as long as the file of that place is there; do nothing where no folder is given."""
    folder = os.environ.get(FOLDER)
    if folder is None or not (file := Path(folder) / f"hold-{place}").exists():
        return
    (Path(folder) / f"at-{place}-{scenario_id}").touch()
    while file.exists():
        time.sleep(_PAUSE)


class HeldModel(ScriptedModel):
    """A scripted model that waits before it answers."""

    scenario = ""

    def _next(self, asked: Asked) -> LLMResponse:
        hold(f"model-{sum(message.role == Role.ASSISTANT for message in asked.messages)}", self.scenario)
        return super()._next(asked)


class HeldCast(Cast):
    """The people of a scenario, with models that wait."""

    def __init__(self, prompts: Prompts, scenario_id: str) -> None:
        super().__init__(prompts)
        self._scenario = scenario_id

    def model(self, settings: LLMConfig, name: str, lines: Sequence[Line]) -> ScriptedModel:
        made = HeldModel(settings, name, lines, {})
        made.scenario = self._scenario
        return made


class Put(ToolMessage):
    """May be called again, so that no person is asked about a handler that was killed."""

    request: str = "put"
    purpose: str = "To put an <item> into the basket."
    item: str
    _effect = "idempotent"


class Basket(ChatAgent):
    """Changes attributes of every kind, and waits in the middle of its second call."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.items: list[str] = []
        self.started = 0

    def put(self, msg: Put) -> str:
        self.started += 1
        self.items.append(msg.item)
        self.by_length = {**getattr(self, "by_length", {}), len(msg.item): msg.item}
        if self.started == 2:
            hold("handler", WAITS_IN_A_HANDLER.id)
        self.last = self.items[-1]
        return f"{self.started} {self.items} {self.by_length} {self.last}"


class Counted(Task[Any]):
    """Ends by a count of its own."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.answers: list[str] = []

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        if result is None and self.pending_message is not None and self.pending_sender == "Agent":
            self.answers.append(self.pending_message.content[:1])
        return (True, StatusCode.DONE) if self.answers == ["1", "2", "3"] else super().done(result, r)


@scenario(
    "HANDLE-21 HANDLE-23",
    """
    Boss LLM: {put item=a}
    Boss Agent: 1 ['a'] {1: 'a'} a
    Boss LLM: {put item=bb}
    Boss Agent: 2 ['a', 'bb'] {1: 'a', 2: 'bb'} bb
    Boss LLM: {put item=c}
    Boss Agent: 3 ['a', 'bb', 'c'] {1: 'c', 2: 'bb'} c
    Boss = DONE
    => 3 ['a', 'bb', 'c'] {1: 'c', 2: 'bb'} c
    """,
)
def waits_in_a_handler(cast: Cast) -> Task:
    agent = cast.agent("Boss", *(tool("put", item=item) for item in ("a", "bb", "c", "d")), kind=Basket, tools=[Put])
    return cast.task(agent, kind=Counted)


WAITS_IN_A_HANDLER: Scenario = waits_in_a_handler
_CASES = (attributes, attribute_types, attributes_of_tasks, attributes_in_programs)
SCENARIOS = [
    each for cases in _CASES for each in vars(cases).values() if isinstance(each, Scenario) and not not_over_http(each)
]
SCENARIOS.append(WAITS_IN_A_HANDLER)
app = App("kept-attributes")


def _add(each: Scenario) -> None:
    app.task(name=each.id)(lambda: each.team(HeldCast({}, each.id)))


for _each in SCENARIOS:
    _add(_each)
