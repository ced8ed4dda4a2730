"""The counting conversation of `tool_loop` with a model over HTTP, and what a fake of that model says.

As an application it is `bench.slow_loop:app`; as a script it is given to `turnwise fake-llm`. The first message
also says how long the model takes for each of its answers, and perhaps for each piece of those that are streamed.
"""

from __future__ import annotations

import re

from bench.counting import first_message, said
from bench.tool_loop import CountTool
from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task
from turnwise.testing.fake_llm.answer import Answer
from turnwise.testing.fake_llm.request import ChatRequest, text_of

app = App("bench", version="1")
_SECONDS = re.compile(r"each after ([\d.]+) s")
_PACE = re.compile(r"a piece every ([\d.]+) s")


@app.task
def loop() -> Task:
    """The model counts with its tool, or says at once that it is done."""
    agent = ChatAgent(ChatAgentConfig(name="loop", llm=OpenAIGPTConfig(chat_model="turnwise-fake")))
    agent.enable_message(CountTool)
    return Task(agent, interactive=False)


def slow_message(turns: int, seconds: float, pace: float = 0.0) -> str:
    """The first message of a conversation of so many turns, in which the model takes so many seconds each time."""
    return f"{first_message(turns)}, each after {seconds} s, a piece every {pace} s"


def answer(request: ChatRequest) -> Answer:
    """Return the model's answer, late."""
    texts = " ".join(text_of(message) for message in request.messages)
    seconds, pace = (float(found[1]) if (found := one.search(texts)) else 0.0 for one in (_SECONDS, _PACE))
    return Answer(content=said(request.last), delay=seconds, pace=pace)
