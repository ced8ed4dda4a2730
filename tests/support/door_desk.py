"""An application behind the OpenAI door, with a model that tells what it was sent, over an embedded server."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task
from turnwise.cli.embedded import EmbeddedServer
from turnwise.errors import ModelRequestError
from turnwise.models.base import LLMMessage, LLMResponse, StreamEventType, TokenSink, ToolChoice
from turnwise.models.mock import MockLM
from turnwise.models.tokens.usage import LLMTokenUsage
from turnwise.processes.settings import load_settings

USED = LLMTokenUsage(prompt_tokens=11, completion_tokens=3, cached_tokens=2, calls=1)


class Recaller(MockLM):
    """Tells the messages that it was sent, word by word; waits in the middle of an answer to one that says "wait"."""

    def __init__(self) -> None:
        super().__init__(MockLMConfig())
        self.go_on, self.begun = threading.Event(), threading.Event()

    def answer(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None = None,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        last = messages[-1].content
        if "fail" in last:
            raise ModelRequestError("the model refuses")
        text = self._told(last, messages)
        for number, word in enumerate(text.split(" ")):
            if on_token is not None:
                on_token(f"{' ' if number else ''}{word}", StreamEventType.TEXT)
            if number == 1 and "wait" in last:
                self.begun.set()
                assert self.go_on.wait(30)
        return LLMResponse(message=text, model="mock", usage=USED)

    def _told(self, last: str, messages: Sequence[LLMMessage]) -> str:
        if last == "paint it":
            return "Which colour do you want?"
        said = " / ".join(f"{message.role.value}: {message.content}" for message in messages[1:])
        return f"DONE I was told {said}"


def door_app(model: Recaller) -> App:
    """Tasks that answer at once, keep their conversation, or ask their user."""
    app = App("office", version="3")

    def task(name: str, **settings: Any) -> None:
        def make() -> Task:
            agent = ChatAgent(ChatAgentConfig(name=name, llm=model.config))
            agent.llm = model
            return Task(agent, **settings)

        app.task(name=name)(make)

    task("recall", interactive=False)
    task("clerk", interactive=False, restart=False)
    task("painter", interactive=True, only_user_quits_root=False)
    return app


@contextmanager
def door_server(folder: Path, model: Recaller, **settings: Any) -> Iterator[EmbeddedServer]:
    """`turnwise up` in threads of this process."""
    given: dict[str, Any] = {"database_url": f"sqlite:///{folder / 'runs.db'}", "bind": "127.0.0.1:0"} | settings
    with EmbeddedServer(load_settings(**given), door_app(model)) as made:
        yield made
