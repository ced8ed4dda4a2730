"""The answer to a call: how its run stands, as text for a model and as fields for a program."""

from __future__ import annotations

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from turnwise.api.runs import RunView


class OpenQuestion(BaseModel):
    """A question to a human."""

    id: str
    text: str


class CallOutcome(BaseModel):
    """How a run stands."""

    run_id: str
    status: str = Field(description="queued, running, waiting, completed, failed or cancelled.")
    status_code: str | None = Field(description="How the task ended, such as DONE or MAX_COST.")
    session_id: str | None
    cost: str = Field(description="US dollars so far.")
    tokens: int = Field(description="Input and output tokens so far.")
    result: str | None = Field(description="The result of a run that is completed.")
    question: OpenQuestion | None = Field(description="What the run asks a human; the tool `answer` takes the answer.")
    waits_for: str | None = Field(description="Why a run that has not ended waits.")
    stopped: str | None = Field(description="The limit that ended the run.")
    error: str | None = Field(description="Why the run failed.")


def outcome_of(run: RunView, question: OpenQuestion | None = None) -> CallOutcome:
    """Return how a run stands; `question` is the one that it asks a human."""
    waits = None if run.finished_at is not None or run.waiting_for is None else run.waiting_for["sentence"]
    return CallOutcome(
        run_id=run.id,
        status=run.status,
        status_code=run.status_code,
        session_id=run.session_id,
        cost=run.usage.cost,
        tokens=run.usage.prompt_tokens + run.usage.completion_tokens,
        result=None if run.result is None else run.result.text,
        question=question,
        waits_for=waits,
        stopped=None if run.stopped is None else run.stopped.message,
        error=_error(run),
    )


def answered(outcome: CallOutcome) -> CallToolResult:
    """Return the answer to a call; a run that failed or was cancelled is a tool's error."""
    texts = [_said(outcome)]
    if outcome.stopped and outcome.result is not None:
        texts.append(f"The work may not be complete: {outcome.stopped}")
    return CallToolResult(
        content=[TextContent(text=text) for text in texts],
        structured_content=outcome.model_dump(mode="json"),
        is_error=outcome.error is not None,
    )


def refused(reason: str) -> CallToolResult:
    """Return the answer to a call that no run came of."""
    return CallToolResult(content=[TextContent(text=reason)], is_error=True)


def _said(outcome: CallOutcome) -> str:
    if outcome.error is not None:
        return f"Run {outcome.run_id} {outcome.status}: {outcome.error}"
    if outcome.result is not None:
        return outcome.result
    if outcome.question is not None:
        return (
            f"Run {outcome.run_id} waits for a human, and asks: {outcome.question.text}\n"
            f'Ask your user, then call the tool `answer` with run_id "{outcome.run_id}" and the answer as text.'
        )
    why = f" It waits: {outcome.waits_for}" if outcome.waits_for else ""
    return f'Run {outcome.run_id} has not ended.{why} Call the tool `result` with run_id "{outcome.run_id}" later.'


def _error(run: RunView) -> str | None:
    if run.status == "cancelled":
        return "it was cancelled"
    if run.status != "failed":
        return None
    told = (run.error or {}).get("message") or (run.stopped.message if run.stopped else None)
    return told or f"it ended with {run.status_code}"
