"""The people outside: who submits runs, who answers questions, who changes their mind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from turnwise.testing.http import Response
from turnwise.testing.simulator.actors import Host
from turnwise.testing.simulator.fleet import Fleet
from turnwise.testing.simulator.webhooks import body_of_webhook
from turnwise.testing.simulator.world import World

_QUEUES = ("queue/llm", "queue/agent")
# Seconds for which an operator pauses something.
_PAUSES = (0.0, 0.5, 3.0, 8.0)
# Seconds before a client tries again.
_AGAIN = (0.2, 1.0, 2.0)


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """A run to be submitted in each schedule.

    - `task`, `message`: what is asked of the application.
    - `limits`: as in `POST /v1/runs`: `max_cost` (a decimal string), `max_tokens`, `turns`, `deadline` (seconds).
    - `session_id`: of conversations with the same one, each is submitted when the one before it was accepted.
    - `webhook`: whether the events of the run are sent to a receiver.
    - `cancel`: whether someone asks for its end at some moment.
    """

    task: str
    message: str
    limits: dict[str, Any] | None = None
    session_id: str | None = None
    cancel: bool = False
    webhook: bool = False

    def body(self) -> dict[str, Any]:
        """The body of `POST /v1/runs`."""
        body: dict[str, Any] = {"task": self.task, "message": self.message}
        if self.limits:
            body["limits"] = self.limits
        if self.session_id:
            body["session_id"] = self.session_id
        if self.webhook:
            body["webhook"] = body_of_webhook()
        return body


# Gives the answer to a question, from the task's path and the question's text.
Human = Callable[[str, str], str]


def says_yes(task: str, question: str) -> str:
    """The answer of a human who was not told what to say."""
    return "yes"


# Says how to continue with a parked call: from its item of `GET /v1/inbox`, the body of `POST /v1/inbox/{id}`.
Operator = Callable[[dict[str, Any]], dict[str, Any]]


def does_it_again(item: dict[str, Any]) -> dict[str, Any]:
    """Return what an operator says who cannot look up whether a call happened."""
    return {"outcome": "again"}


class Clients:
    """Everybody outside. They are never killed, and try again until someone answers them."""

    def __init__(
        self,
        world: World,
        fleet: Fleet,
        conversations: Mapping[int, Conversation],
        human: Human,
        operator: Operator,
    ) -> None:
        self._operator = operator
        self._world = world
        self._fleet = fleet
        self._human = human
        self._host = Host("clients")
        self.accepted: dict[int, str] = {}
        self.refused: list[str] = []
        self.expected = len(conversations)
        self._conversations = conversations

    def start(self) -> None:
        """Begin to submit; those of one session one after the other, the others at once."""
        lines: dict[str, list[int]] = {}
        for number, conversation in self._conversations.items():
            lines.setdefault(conversation.session_id or f" {number}", []).append(number)
        for line in lines.values():
            after = self._world.random.random()
            self._world.schedule.spawn(f"client {line[0]}", self._host, partial(self._submit, line), after)

    def answer_questions(self) -> None:
        """Let a human look into the inbox and answer what is there, and an operator resolve what is parked."""
        self._world.schedule.spawn("human", self._host, self._answer)

    @property
    def done(self) -> bool:
        """Return whether every conversation was accepted, or refused."""
        return len(self.accepted) + len(self.refused) == self.expected

    def _submit(self, line: list[int]) -> None:
        for number in line:
            conversation = self._conversations[number]
            key = {"Idempotency-Key": f"conversation-{number}"}
            answer = self._until_answered("POST", "/v1/runs", conversation.body(), key)
            if answer.status != 202:
                self.refused.append(f"{conversation}: {answer.status} {answer.body}")
                continue
            self.accepted[number] = answer.body["id"]
            if self._world.happens("pause"):
                paused = self._world.random.choice((*_QUEUES, f"task/{conversation.task}", "tenant/default"))
                self._world.schedule.spawn(f"operator {number}", self._host, partial(self._pause, paused))
            if conversation.cancel:
                self._world.schedule.wait(self._world.random.random() * 3)
                self._until_answered("POST", f"/v1/runs/{answer.body['id']}/cancel")

    def _pause(self, what: str) -> None:
        wait = self._world.schedule.wait
        wait(self._world.random.random())
        self._until_answered("PUT", f"/v1/pauses/{what}", {"reason": "a test"})
        wait(self._world.random.choice(_PAUSES))
        # Another operator may have ended it.
        self._until_answered("DELETE", f"/v1/pauses/{what}")

    def _answer(self) -> None:
        for question in self._until_answered("GET", "/v1/inbox").body["items"]:
            if question["kind"] == "parked":
                self._until_answered("POST", f"/v1/inbox/{question['id']}", self._operator(question))
                continue
            said = {"text": self._human(question["task"], question["text"]), "question": question["id"]}
            self._until_answered("POST", f"/v1/runs/{question['run']}/messages", said)

    def _until_answered(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Response:
        while True:
            try:
                answer = self._fleet.call(method, path, body, headers)
            except ConnectionError as error:
                self._world.tell(f"{method} {path}: {error}")
            else:
                self._world.tell(f"{method} {path}: {answer.status}")
                if answer.status < 500:
                    return answer
            self._world.schedule.wait(self._world.random.choice(_AGAIN))
