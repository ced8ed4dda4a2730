"""A list of runs on the terminal: each with its age, and in few words what it waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from rich.cells import cell_len
from rich.text import Text

from turnwise.cli.text.ages import age, age_of, since
from turnwise.cli.text.console import console, cut, fitted, one_line
from turnwise.cli.text.messages import Json, document_text
from turnwise.cli.text.run import cost, status, tokens

# Columns from which on what a run waits for stands beside the rest, and not on a line below it.
_WIDE = 160
# Columns from which on there is room for tokens and cost.
_ROOMY = 100
_RIGHT = ("age", "took", "tokens", "cost")
_SHORTEST_TASK = 8


def print_runs(runs: Iterable[Json]) -> None:
    """Print one run per line, on a narrow terminal with a second line for what it waits for."""
    out = console()
    for line, look in _lines(list(runs), out.width):
        out.print(Text(line, style=look), soft_wrap=True)


def _lines(runs: list[Json], width: int) -> Iterator[tuple[str, str]]:
    """The lines, each with its style."""
    wide, roomy = width >= _WIDE, width >= _ROOMY
    names = ("run", "task", "status", "age", "took", *(("tokens", "cost") if roomy else ()))
    rows = [names, *(_facts(run, roomy) for run in runs)]
    widths = [max(cell_len(row[at]) for row in rows) for at in range(len(names))]
    # A narrow terminal cuts the names of tasks off, and never an id.
    over = sum(widths) + 2 * (len(widths) - 1) - width
    widths[1] = max(min(widths[1], _SHORTEST_TASK), widths[1] - max(over, 0))
    notes = ["waits for, or says" if wide else "", *(one_line(" ".join(note(run).split())) for run in runs)]
    for at, (row, told) in enumerate(zip(rows, notes, strict=True)):
        line = "  ".join(
            fitted(cell, size, right=name in _RIGHT) for name, cell, size in zip(names, row, widths, strict=True)
        )
        line = f"{line}  {told}" if wide else line
        yield cut(line.rstrip(), width), "bold" if at == 0 else ""
        if told and not wide:
            yield cut(f"  {told}", width), "dim"


def _facts(run: Json, roomy: bool) -> tuple[str, ...]:
    facts = (run["id"], one_line(run["task"]), one_line(status(run)), age_of(run["created_at"]), took(run))
    return (*facts, str(tokens(run)), cost(run)) if roomy else facts


def took(run: Json) -> str:
    """Return how long a run took, or has taken so far; "-" before it began."""
    if run["started_at"] is None:
        return "-"
    finished = run["finished_at"]
    seconds = since(run["started_at"], datetime.fromisoformat(finished) if finished else None)
    return "-" if seconds is None else age(seconds)


def note(run: Json) -> str:
    """Return what a run waits for; of one that has failed its error, or the limit that ended it, else its message."""
    if run.get("waiting_for"):
        return reason(run["waiting_for"])
    if run.get("error"):
        return str(run["error"].get("message", run["error"]))
    if run.get("stopped"):
        return str(run["stopped"]["message"])
    return document_text(run["message"])


def reason(why: Mapping[str, object]) -> str:
    """Return what has to happen, in a few words; the whole sentence for a kind that is not known here."""
    return _SHORT.get(str(why["kind"]), _sentence)(why)


def _sentence(why: Mapping[str, object]) -> str:
    return str(why["sentence"])


def _ask(why: Mapping[str, object]) -> str:
    if why.get("state") == "claimed":
        worker = why.get("worker")
        where = f"worker {worker['pid']} on {worker['host']}" if isinstance(worker, Mapping) else "a worker"
        return f"{why['agent']}: {where} is at it, attempt {why['attempt']}"
    if why.get("state") == "lapsed":
        return f"{why['agent']}: its worker fell silent"
    if why.get("workers") == 0:
        return f"{why['agent']}: no worker serves the queue {why['queue']}"
    return f"{why['agent']}: a worker of the queue {why['queue']}"


def _retry(why: Mapping[str, object]) -> str:
    error = why.get("error")
    kind = error.get("type") if isinstance(error, Mapping) else None
    return f"another try at {_clock(why)}" + (f" after {kind}" if kind else "")


def _paused(why: Mapping[str, object]) -> str:
    because = f": {why['reason']}" if why.get("reason") else ""
    return f"the {why['scope']} {why['name']} is paused{because}"


def _clock(why: Mapping[str, object]) -> str:
    return f"{str(why.get('due_at') or '')[11:19]} UTC"


_SHORT: dict[str, Callable[[Mapping[str, object]], str]] = {
    "move": lambda why: f"a coordinator: {why['reason']}",
    "session": lambda why: f"{why['run']}, before it in its session",
    "llm": _ask,
    "agent": _ask,
    "human": lambda why: f"a human, asked by {why['task']}",
    "retry": _retry,
    "provider": lambda why: f"the provider of {why.get('model') or 'its model'}: {why.get('limit') or 'a limit'}",
    "provider_batch": lambda why: f"a batch of the provider of {why.get('model') or 'its model'}",
    "outage": lambda why: f"the provider of {why.get('model') or 'its model'}, which does not answer",
    "budget": lambda why: f"budget: {why.get('limit') or 'a limit'} of {why.get('scope') or 'the run'}",
    "parked": lambda why: f"a decision on {why.get('tool') or why.get('agent')}, which is parked",
    "version": lambda why: f"a process of version {why['version']}",
    "upgrade": lambda why: f"a newer Turnwise, which reads states of version {why['state']}",
    "paused": _paused,
}
