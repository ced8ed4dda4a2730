"""Questions to humans, and their answers."""

from __future__ import annotations

from turnwise.api.runs import RunView
from turnwise_gateway.access.scopes import WRITES
from turnwise_gateway.bodies import HumanText
from turnwise_gateway.gateway import Here
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router
from turnwise_gateway.human_answers import take_answer
from turnwise_gateway.parameters import known_form
from turnwise_gateway.views import run_view

router = api_router("humans", "/v1")


@router.post("/runs/{run_id}/messages", dependencies=[WRITES], responses=problems(400, 404, 409, 413, 415, 422, 503))
def answer_question(run_id: str, body: HumanText, gateway: Here) -> RunView:
    """Answer a question of the run; the first answer counts, the second one gets 409 `already_answered`."""
    run = gateway.record.run(known_form(run_id))
    take_answer(gateway, run_id, body.text, body.question)
    gateway.dispatcher.wake(run)  # before anything else is read, which may fail
    return run_view(gateway.situation(run_id))
