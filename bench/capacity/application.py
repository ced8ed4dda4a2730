"""The counting conversation with a model over HTTP, in processes that keep account of their time.

As an application it is `bench.capacity.application:app`; as a script it is given to `turnwise fake-llm`, whose answers
take MEAN_LATENCY seconds on average, unevenly.
"""

from __future__ import annotations

import math
import os
import random
from pathlib import Path

from bench.counting import said
from bench.tool_loop import CountTool
from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task
from turnwise.testing.fake_llm.answer import Answer
from turnwise.testing.fake_llm.request import ChatRequest

# Of the logarithm: a call in twenty takes 2.0 times the mean, one in a hundred 2.8 times.
SPREAD = 0.5
LATENCY = "CAPACITY_LATENCY"
FOLDER = "CAPACITY_FOLDER"

app = App("capacity", version="1")
_random = random.Random(7)


@app.task
def loop() -> Task:
    """The model counts with its tool, or says at once that it is done."""
    agent = ChatAgent(ChatAgentConfig(name="loop", llm=OpenAIGPTConfig(chat_model="turnwise-fake")))
    agent.enable_message(CountTool)
    return Task(agent, interactive=False)


def latency(mean: float, chance: random.Random) -> float:
    """Return the time of a model's call in seconds: lognormal."""
    return chance.lognormvariate(math.log(mean) - SPREAD**2 / 2, SPREAD) if mean > 0 else 0.0


def answer(request: ChatRequest) -> Answer:
    """Return the model's answer, late."""
    return Answer(content=said(request.last), delay=latency(float(os.environ.get(LATENCY, "0")), _random))


def _keep_account() -> None:
    folder = os.environ.get(FOLDER)
    if folder:
        from bench.account import install

        install(Path(folder))


if __name__ == "bench.capacity.application":  # not where it is a script
    _keep_account()
