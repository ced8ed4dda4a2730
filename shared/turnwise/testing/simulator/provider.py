"""The provider of a simulated installation: outside, never killed; whoever asks it may be killed in between."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email import message_from_bytes
from typing import Any

import httpx2

from turnwise.models.base import LLMMessage, LLMResponse, ToolChoice
from turnwise.models.openai.batches import RemoteBatches
from turnwise.models.openai.chat import OpenAIGPT
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.connections import client_over
from turnwise.testing.fake_llm.answer import Answer
from turnwise.testing.fake_llm.batch_store import BatchStore, FileOrBatchRefused
from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.wire import completion
from turnwise.testing.simulator.promises import Violation
from turnwise.testing.simulator.world import World

# Seconds that a batch takes; most are looked at once before they end.
_DELAYS = (0.0, 1.0, 3.0, 8.0)
_ALL = 10_000
Json = dict[str, Any]


class SimulatedProvider:
    """Answers the calls of an application's `OpenAIGPT` models, made directly or in batches, in simulated time.

    `answer` gives an answer's text to the text of the last message, always the same. Each request is a point at which
    others come first, and at which whoever asks may be killed, before it and after.
    """

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer
        self._world: World | None = None
        self.store = BatchStore(self._scripted)

    def begin(self, world: World) -> None:
        """Forget all; from now on in the time of `world`."""
        self._world = world
        self.store = BatchStore(self._scripted, clock=world.time_of_day)

    def stand_in(self, model: OpenAIGPT) -> None:
        """Answer for a model of a simulated process."""

        def answer(messages: Sequence[LLMMessage], max_tokens: int, tools: ToolChoice | None, on_token: Any) -> Any:
            return self._direct(model, messages, max_tokens, tools)

        vars(model)["answer"] = answer
        vars(model)["batches"] = lambda: RemoteBatches(model.config, self._connected)

    def _scripted(self, request: ChatRequest) -> Answer:
        return Answer(content=self._answer(request.last))

    def _direct(
        self, model: OpenAIGPT, messages: Sequence[LLMMessage], max_tokens: int, tools: ToolChoice | None
    ) -> LLMResponse:
        request = ChatRequest.model_validate(model.batch_request(messages, max_tokens, tools))
        response = model.batch_answer(completion(request, self._scripted(request)), messages)
        usage = response.usage.model_copy(update={"cost": model.price(response.usage)})
        return response.model_copy(update={"usage": usage})

    @contextmanager
    def _connected(self, config: OpenAIGPTConfig) -> Iterator[Any]:
        yield client_over(_Transport(self), config)

    def asked(self, method: str, path: str, request: httpx2.Request) -> httpx2.Response:
        """Take a request, from an actor that may be killed before it and after it."""
        world = self._world
        assert world is not None, "the provider is asked outside of a schedule"
        pattern, name, work = next(route for route in _ROUTES if re.fullmatch(route[0], f"{method} {path}"))
        found = re.fullmatch(pattern, f"{method} {path}")
        assert found is not None
        world.step(name)
        try:
            answer = work(self, request, *found.groups())
        except FileOrBatchRefused as error:
            told = {"error": {"message": error.fault.message, "type": "refused", "param": None, "code": None}}
            return httpx2.Response(error.fault.status, json=told)
        world.tell(name)
        if world.happens("kill_at_provider"):
            world.kill(world.schedule.here().host, f"after: {name}")
        world.step(f"the answer: {name}")
        return httpx2.Response(200, content=answer) if isinstance(answer, bytes) else httpx2.Response(200, json=answer)

    def created(self, asked: Json) -> Json:
        """Make a batch, which takes a while."""
        world = self._world
        assert world is not None
        delay = world.random.choice(_DELAYS)
        self.store.script = self.store.script.model_copy(update={"delay": delay})
        return self.store.create(asked)

    def broken_promises(self) -> Iterator[Violation]:
        """No call is answered by two batches, and no file is left."""
        batches: list[Json] = self.store.batches(limit=_ALL)["data"]
        names = Counter((batch["metadata"] or {}).get("turnwise_batch") for batch in batches)
        for name, times in names.items():
            if times > 1:
                yield Violation(promise="one call, one batch", sentence=f"{name} was submitted {times} times")
        for file in self.store.files():
            text = f"the file {file['filename']} is left at the provider"
            yield Violation(promise="nothing left", sentence=text)


class _Transport(httpx2.BaseTransport):
    """Carries the requests of a client to a provider, without a socket."""

    def __init__(self, provider: SimulatedProvider) -> None:
        self._provider = provider

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        path = request.url.path.removeprefix("/v1")
        return self._provider.asked(request.method, path, request)


def _upload(provider: SimulatedProvider, request: httpx2.Request) -> Json:
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    form = message_from_bytes(head + request.content).walk()
    (file,) = [part for part in form if part.get_filename()]
    return provider.store.keep(str(file.get_filename()), "batch", bytes(file.get_payload(decode=True)))


def _listed(data: Json) -> Json:
    return {"object": "list", "has_more": False, **data}


_ROUTES: tuple[tuple[str, str, Callable[..., Json | bytes]], ...] = (
    ("POST /files", "a file is uploaded", _upload),
    ("GET /files", "files are listed", lambda to, _: _listed({"data": to.store.files("batch")})),
    ("DELETE /files/([^/]+)", "a file is deleted", lambda to, _, id: to.store.delete(id)),
    ("GET /files/([^/]+)/content", "results are downloaded", lambda to, _, id: to.store.content(id)),
    ("POST /batches", "a batch is created", lambda to, request: to.created(json.loads(request.content))),
    ("GET /batches", "batches are listed", lambda to, _: _listed(to.store.batches(None, _ALL))),
    ("GET /batches/([^/]+)", "a batch is looked at", lambda to, _, id: to.store.batch(id)),
    ("POST /batches/([^/]+)/cancel", "a batch is cancelled", lambda to, _, id: to.store.cancel(id)),
)
