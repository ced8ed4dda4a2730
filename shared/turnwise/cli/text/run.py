"""Runs, lists of runs and transcripts on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnwise.cli.text.console import console
from turnwise.cli.text.messages import Json, document_text, money, speaker


def print_run(run: Json, *, stopped: bool = True) -> None:
    """A run's facts and its result; without `stopped`, not the limit that ended it."""
    out = console()
    out.print(f"{run['id']}  task {run['task']}  {status(run)}  {tokens(run)} tokens  {cost(run)}")
    if run.get("waiting_for"):
        out.print(run["waiting_for"]["sentence"])
    if stopped and run.get("stopped"):
        out.print(run["stopped"]["message"])
    if run.get("error"):
        out.print(f"error: {run['error'].get('message', run['error'])}")
    if run.get("result"):
        out.print(result_text(run))


def print_transcript(transcript: Json) -> None:
    """Print the transcript of a run, with its turns, the tasks nested."""
    root = transcript.get("root")
    for line in transcript_lines(root) if root else ():
        console().print(line)


def print_inbox(items: Iterable[Json]) -> None:
    """Open questions and parked calls, each with the command that answers it."""
    out = console()
    for item in items:
        out.print(f"{item['run']}  {item['task']}")
        for line in _parked_lines(item) if item["kind"] == "parked" else [document_text(item["document"])]:
            out.print(f"  {line}")
        command = f"resolve {item['id']} --again" if item["kind"] == "parked" else f"answer {item['run']} TEXT"
        out.print(f"  turnwise {command}", style="dim")


def _parked_lines(item: Json) -> Iterator[str]:
    """Return what is parked, and what is known of it."""
    if item["reason"] == "unknown_outcome":
        arguments = ", ".join(f"{name}={value!r}" for name, value in (item["arguments"] or {}).items())
        message = (item["error"] or {}).get("message") or "nothing on record tells how it ended"
        yield f"Did {item['tool']}({arguments}) of {item['agent']} happen? No one knows: {str(message).rstrip('.')}."
    else:
        yield str((item["error"] or {}).get("message"))
    if item["idempotency_key"]:
        yield f"idempotency key {item['idempotency_key']}"
    worker = item["worker"] or {}
    if item["began_at"]:
        where = f", on {worker['host']} (pid {worker['pid']})" if worker.get("pid") else ""
        yield f"begun {str(item['began_at'])[:19]}{where}"


def status(run: Json) -> str:
    """Status and status code in few words."""
    code = run.get("status_code")
    return f"{run['status']} ({code})" if code else str(run["status"])


def tokens(run: Json) -> int:
    """Input and output tokens together."""
    usage = run["usage"]
    return int(usage["prompt_tokens"]) + int(usage["completion_tokens"])


def cost(run: Json) -> str:
    """Return what the run cost so far; marked where calls of no known price are left out."""
    usage = run["usage"]
    return money(usage["cost"]) + ("+?" if usage["unpriced_calls"] else "")


def result_text(run: Json) -> str:
    """The result's text, or its tools."""
    result = run.get("result") or {}
    return str(result.get("content") or "") or document_text(result.get("document"))


def transcript_lines(task: Json, depth: int = 0) -> Iterator[str]:
    """A task of a transcript and all that was said in it, the tasks that it called indented under it."""
    pad = "  " * depth
    ended = f" ({task['status']})" if task.get("status") else ""
    yield f"{pad}{task['task']}{ended}"
    for item in task["items"]:
        if item["kind"] == "task":
            yield from transcript_lines(item, depth + 1)
        else:
            yield f"{pad}  {item['turn']:>3}  {speaker(item['document'])}: {document_text(item['document'])}"
