"""The application of a chaos run; every process loads it as `tests.chaos.application:app`."""

from __future__ import annotations

import os
import time
from decimal import Decimal

from pydantic import BaseModel
from tests.chaos import ledgers, model, words

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, OpenAIGPTConfig, Task, ToolMessage

# USD per million tokens of the model.
INPUT_PRICE, OUTPUT_PRICE = Decimal(1), Decimal(2)
# Seconds that a tool takes before and after it does what can be seen outside: time in which it may be killed.
_BEFORE, _AFTER = 0.03, 0.1

app = App("chaos")


class _Call(ToolMessage):
    """A call that is known outside by its `ref`."""

    request: str = ""
    ref: str

    def handle(self, idempotency_key: str) -> str:
        pace = float(os.environ.get(model.PACE, "0"))
        time.sleep(_BEFORE * pace)
        self._do(idempotency_key)
        time.sleep(_AFTER * pace)
        return words.result_of(self.request, self.ref)

    def _do(self, key: str) -> None:
        if path := os.environ.get(ledgers.TOOL_LOG):
            line = {"tool": self.request, "ref": self.ref, "key": key, "pid": os.getpid(), "at": time.time()}
            ledgers.append(path, line)


class Look(_Call):
    request: str = "look"
    purpose: str = "To look something up."
    _effect = "read_only"


class Book(_Call):
    request: str = "book"
    purpose: str = "To book something, under a key that makes a second try the same booking."
    _effect = "idempotent"


class Pay(_Call):
    request: str = "pay"
    purpose: str = "To pay, for which there is no key."
    _effect = "once"


class Note(ToolMessage):
    request: str = "note"
    purpose: str = "To keep a note."
    _effect = "read_only"
    ref: str


class Notes(BaseModel):
    refs: list[str] = []


class Desk(ChatAgent):
    """Keeps notes in its state, and says all of them each time."""

    State = Notes
    state: Notes

    def note(self, tool: Note) -> str:
        self.state.refs.append(tool.ref)
        return f"Notes: {', '.join(self.state.refs)}."


def _config(role: str, *, api: bool = False) -> ChatAgentConfig:
    llm = OpenAIGPTConfig(
        chat_model="turnwise-fake",
        input_price=INPUT_PRICE,
        output_price=OUTPUT_PRICE,
        max_output_tokens=300,
        timeout=20,
    )
    return ChatAgentConfig(
        name=role.capitalize(),
        llm=llm,
        system_message=f"You play {role}.",
        use_tools=not api,
        use_functions_api=api,
    )


def _team(role: str, *, restart: bool = True, api: bool = False) -> Task:
    desk = Desk(_config(role, api=api))
    desk.enable_message([Look, Book, Pay, Note])
    helper = ChatAgent(_config("helper"))
    helper.enable_message([Look, Book, Pay])
    task = Task(desk, interactive=False, restart=restart)
    task.add_sub_task(Task(helper, interactive=False))
    return task


@app.task
def desk() -> Task:
    """Writes its tools as text."""
    return _team("desk")


@app.task
def caller() -> Task:
    """Calls its tools through the model's API."""
    return _team("caller", api=True)


@app.task
def diary() -> Task:
    """Goes on in the next run of the session."""
    return _team("diary", restart=False)


@app.task
def tick() -> Task:
    """The task of the schedule; no provider is asked."""
    model = MockLMConfig(default_response="DONE ticked")
    return Task(ChatAgent(ChatAgentConfig(name="ticker", llm=model)), interactive=False)
