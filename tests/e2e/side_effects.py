"""An application whose tools write down what they do, in a file that outlives every process."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from turnwise import App, ChatAgent, ChatAgentConfig, ChatDocument, MockLMConfig, StatusCode, Task, ToolMessage

app = App("side-effects")

FOLDER = "SIDE_EFFECTS_FOLDER"
_PAUSE = 0.02


class Done(ToolMessage):
    """Writes a line of its effect, and then takes until nobody holds it."""

    purpose: str = "To do something outside."
    ref: str

    def handle(self, idempotency_key: str) -> str:
        folder = Path(os.environ[FOLDER])
        with (folder / "log").open("a") as log:
            log.write(json.dumps({"tool": self.request, "ref": self.ref, "key": idempotency_key}) + "\n")
        while (folder / f"hold-{self.ref}").exists():
            time.sleep(_PAUSE)
        return f"{self.request} {self.ref} done"


class Look(Done):
    request: str = "look"
    _effect = "read_only"


class Book(Done):
    request: str = "book"
    _effect = "idempotent"


class Pay(Done):
    request: str = "pay"


def _say(text: str) -> str:
    """Call the tools that the message names ("look a, pay b"), then end with what they said."""
    if not text.startswith("please "):
        return f"DONE {text}"
    calls = [call.split() for call in text.removeprefix("please ").split(", ")]
    return " ".join(json.dumps({"request": name, "ref": ref}) for name, ref in calls)


def _clerk() -> ChatAgent:
    agent = ChatAgent(ChatAgentConfig(name="clerk", llm=MockLMConfig(response_fn=_say)))
    agent.enable_message([Look, Book, Pay])
    return agent


@app.task
def clerk() -> Task:
    return Task(_clerk(), interactive=False)


class _Ruled(Task):
    """Has a rule of its own, so a gateway leaves its first move to a coordinator."""

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        return super().done(result, r)


@app.task
def ruled_clerk() -> Task:
    return _Ruled(_clerk(), interactive=False)
