"""Models that take simulated time to answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from turnwise.app import App
from turnwise.base.cancellation import current_cancellation
from turnwise.errors import ModelRateLimitError, ModelUnavailableError
from turnwise.models.client import ModelClient
from turnwise.models.language_model import LanguageModel
from turnwise.models.openai.chat import OpenAIGPT
from turnwise.testing.simulator.promises import Violation
from turnwise.testing.simulator.world import World

_USUAL = (0.01, 0.1, 0.4)
_SLOW = (2.0, 6.0, 14.0)
_RETRY_AFTER = (None, 2.0, 9.0)
_ERRORS = 3


def copy_of(app: App) -> App:
    """The application as another process has it: the same factories, trees of its own, which are made at once."""
    copied = App(app.name, app.version)
    copied._factories = dict(app._factories)
    copied.check()
    return copied


def _fail(world: World) -> None:
    """Be a provider that has no time now, or is away; not so often that a call is given up."""
    if world.counts["model_error"] < _ERRORS and world.happens("model_error"):
        world.tell("the provider refuses a call")
        if world.random.random() < 0.5:
            raise ModelRateLimitError(
                "the simulated provider answered 429", retry_after=world.random.choice(_RETRY_AFTER)
            )
        raise ModelUnavailableError("the simulated provider answered 503")


class ProviderStandIn(Protocol):
    """Answers for models that would be called over HTTP."""

    def begin(self, world: World) -> None:
        """Begin a schedule."""

    def stand_in(self, model: OpenAIGPT) -> None:
        """Answer for a model of a simulated process."""

    def broken_promises(self) -> Iterable[Violation]:
        """Return what is wrong with it in the end."""


class Pacing:
    """Sits in front of the models of an application; `world` is that of the schedule that runs.

    `provider` answers for its `OpenAIGPT` models.
    """

    world: World | None = None

    def __init__(self, app: App, provider: ProviderStandIn | None = None) -> None:
        self._provider = provider
        self._seen: dict[int, LanguageModel] = {}
        for name in app.tasks:
            for agent in app.tree(name).agents.values():
                if agent.llm is not None and id(agent.llm) not in self._seen:
                    self._seen[id(agent.llm)] = agent.llm
                    self._pace(agent.llm)

    def _pace(self, model: LanguageModel) -> None:
        """Stand in front of the method that agents call: a client's `answer`, the `chat` of a class of one's own."""
        if self._provider is not None and isinstance(model, OpenAIGPT):
            self._provider.stand_in(model)
        name = "answer" if isinstance(model, ModelClient) and type(model).chat is ModelClient.chat else "chat"
        vars(model)[name] = self._paced(getattr(model, name))

    def _paced(self, chat: Callable[..., Any]) -> Callable[..., Any]:
        def paced(*args: Any, **options: Any) -> Any:
            world = self.world
            if world is None:
                return chat(*args, **options)
            world.calls += 1
            world.step("a model call")
            seconds = world.random.choice(_SLOW if world.happens("model_slow") else _USUAL)
            current = current_cancellation()
            if current is not None:  # as a client on its socket, which is closed when the answer is no longer wanted
                current.wait(seconds)
            else:
                world.schedule.wait(seconds)
            _fail(world)
            answer = chat(*args, **options)
            world.tell("a model has answered")
            world.step("the answer of a model")
            return answer

        return paced
