"""An application whose tasks ask two providers: one that a test stops and starts, and one that is always there."""

from __future__ import annotations

import os

from pydantic import SecretStr

from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task

app = App("two-providers", version="1")


def _asking(name: str, address: str) -> Task:
    llm = OpenAIGPTConfig(chat_model=name, api_base=address, api_key=SecretStr("none"), timeout=20)
    return Task(ChatAgent(ChatAgentConfig(name=name, llm=llm)), interactive=False)


@app.task
def shaky() -> Task:
    return _asking("shaky", os.environ["SHAKY_URL"])


@app.task
def steady() -> Task:
    return _asking("steady", os.environ["STEADY_URL"])
