"""Runs, lists of runs and transcripts on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.table import Table

from turnwise.cli.message_text import Json, document_text, money, shorten, speaker


def console() -> Console:
    """Where results go; as wide as needed where nobody looks, so that no line is cut."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=200)


def print_runs(runs: Iterable[Json]) -> None:
    """A table, one run per line."""
    table = Table(box=None, pad_edge=False)
    for name in ("run", "task", "status", "created", "tokens", "cost", "message"):
        table.add_column(name, justify="right" if name in ("tokens", "cost") else "left", no_wrap=name != "message")
    for run in runs:
        message = shorten(document_text(run["message"]), 60)
        created = str(run["created_at"])[:19]
        table.add_row(run["id"], run["task"], status(run), created, str(tokens(run)), cost(run), message)
    console().print(table)


def print_run(run: Json) -> None:
    """A run's facts and its result."""
    out = console()
    out.print(f"{run['id']}  task {run['task']}  {status(run)}  {tokens(run)} tokens  {cost(run)}", markup=False)
    waiting = run.get("waiting_for")
    if waiting and waiting.get("kind") == "human":
        out.print(f"waits for a human: turnwise answer {run['id']} TEXT", markup=False)
    if waiting and waiting.get("kind") == "session":
        out.print(f"waits for the end of {waiting['run']}, which is before it in its session", markup=False)
    if run.get("error"):
        out.print(f"error: {run['error'].get('message', run['error'])}", markup=False)
    if run.get("result"):
        out.print(result_text(run), markup=False)


def print_transcript(transcript: Json) -> None:
    """What was said, with its turns, the tasks nested."""
    root = transcript.get("root")
    for line in transcript_lines(root) if root else ():
        console().print(line, markup=False)


def print_questions(questions: Iterable[Json]) -> None:
    """Open questions, each with the command that answers it."""
    out = console()
    for question in questions:
        out.print(f"{question['run']}  {question['task']}", markup=False)
        out.print(f"  {document_text(question['document'])}", markup=False)
        out.print(f"  turnwise answer {question['run']} TEXT", markup=False, style="dim")


def status(run: Json) -> str:
    """Status and status code in few words."""
    code = run.get("status_code")
    return f"{run['status']} ({code})" if code else str(run["status"])


def tokens(run: Json) -> int:
    """Input and output tokens together."""
    usage = run["usage"]
    return int(usage["prompt_tokens"]) + int(usage["completion_tokens"])


def cost(run: Json) -> str:
    """What the run cost so far; marked where calls of no known price are left out."""
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
