"""The support desk in this process, with its stand-in model or one that a test makes up, and a scripted human."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.own_models import Asked, OwnModel

from turnwise import LLMResponse, LLMTokenUsage, Task
from turnwise.demo import fake_model
from turnwise.demo.app import app
from turnwise.demo.tickets import Ticket, outcome_of, ticket_message
from turnwise.testing.fake_llm.request import ChatRequest

# From a request to the model's text, like `answer` of a script for the fake model.
Rules = Callable[[ChatRequest], str]


def _ruled(rules: Rules) -> OwnModel:
    """A model that answers by rules, in this process."""

    def answer(asked: Asked) -> LLMResponse:
        text = rules(ChatRequest(model="rules", messages=[message.api_dict() for message in asked.messages]))
        return LLMResponse(message=text, usage=LLMTokenUsage(calls=1))

    return OwnModel(answer)


@dataclass(frozen=True, kw_only=True)
class Worked:
    """The outcome of a ticket, the result's text, and the questions to the human."""

    outcome: str
    text: str
    questions: int


def work(ticket: Ticket, *, human: str = "yes", rules: Rules = fake_model.answer) -> Worked:
    """Run a ticket; the human answers every question with the same text."""
    return work_message(ticket_message(ticket), human=human, rules=rules)


def work_message(message: str, *, human: str = "yes", rules: Rules = fake_model.answer) -> Worked:
    """The same for a message as it stands."""
    asked: list[object] = []

    def respond(*args: object, **_: object) -> str:
        asked.append(args)
        return human

    task = app.build("triage")
    for each in _all_tasks(task):
        each.agent.llm = _ruled(rules)
        each.agent.callbacks.get_user_response = respond
    result = task.run(message)
    text = result.content if result is not None else ""
    return Worked(outcome=outcome_of(text), text=text, questions=len(asked))


def _all_tasks(task: Task) -> list[Task]:
    return [task, *(deeper for sub in task.sub_tasks for deeper in _all_tasks(sub))]
