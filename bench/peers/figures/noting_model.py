"""An application whose model sends the text that it was asked to `BENCH_NOTES`, a UDP port of this machine, at once."""

from __future__ import annotations

import os
import socket

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task

PORT = "BENCH_NOTES"

app = App("bench", version="1")


def _answer(text: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as notes:
        notes.sendto(text.encode(), ("127.0.0.1", int(os.environ[PORT])))
    return "DONE"


@app.task(name="loop")
def noted() -> Task:
    """A model that says at once that it is done."""
    agent = ChatAgent(ChatAgentConfig(name="noted", llm=MockLMConfig(response_fn=_answer)))
    return Task(agent, interactive=False)
