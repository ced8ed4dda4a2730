"""The transitions of runs and asks: legal ones pass, all others raise and change nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from tests.support.state_diagrams import PAGE, page

from turnwise.api.runs import Status
from turnwise.errors import IllegalTransitionError
from turnwise.processes.settings import ServiceSettings
from turnwise.record.database.status_statements import change_asks, change_runs
from turnwise.record.states import (
    ASK_TRANSITIONS,
    FINISHED,
    RUN_TRANSITIONS,
    UNANSWERED,
    UNFINISHED,
    AskStatus,
    RunStatus,
    all_passed,
    passed,
    sources,
)
from turnwise_gateway import bodies

# Written out, so that a change of the table is a change of this test.
_RUNS = {
    None: {"queued", "running"},
    "queued": {"running", "waiting", "completed", "failed", "cancelled"},
    "running": {"running", "waiting", "completed", "failed", "cancelled"},
    "waiting": {"running", "waiting", "completed", "failed", "cancelled"},
    "completed": set(),
    "failed": {"queued", "running", "waiting"},
    "cancelled": set(),
}
_ASKS = {
    None: {"runnable", "open", "answered"},
    "runnable": {"leased", "cancelled"},
    "leased": {"runnable", "answered", "parked", "cancelled"},
    "open": {"answered", "cancelled"},
    "parked": {"runnable", "answered", "cancelled"},
    "answered": {"runnable"},
    "cancelled": {"runnable", "open"},
}


@pytest.mark.parametrize(("source", "target"), list(product([None, *RunStatus], RunStatus)))
def test_a_run_goes_only_where_the_table_lets_it(source: RunStatus | None, target: RunStatus) -> None:
    if target.value in _RUNS[source]:
        assert passed(source, target) is target
    else:
        with pytest.raises(IllegalTransitionError, match=r"^a run cannot .*; allowed: ") as raised:
            passed(source, target)
        assert raised.value.code == "illegal_transition"


@pytest.mark.parametrize(("source", "target"), list(product([None, *AskStatus], AskStatus)))
def test_an_ask_goes_only_where_the_table_lets_it(source: AskStatus | None, target: AskStatus) -> None:
    if target.value in _ASKS[source]:
        assert passed(source, target) is target
    else:
        with pytest.raises(IllegalTransitionError, match=r"^an ask cannot .*; allowed: "):
            passed(source, target)


def test_an_illegal_transition_says_what_is_allowed() -> None:
    with pytest.raises(IllegalTransitionError, match="a run cannot go from completed to running; allowed: none"):
        passed(RunStatus.COMPLETED, RunStatus.RUNNING)
    with pytest.raises(
        IllegalTransitionError, match="an ask cannot go from open to leased; allowed: answered, cancelled"
    ):
        passed(AskStatus.OPEN, AskStatus.LEASED)


def test_each_transition_is_said_once_and_has_a_reason() -> None:
    for table in (RUN_TRANSITIONS, ASK_TRANSITIONS):
        pairs = [(each.source, each.target) for each in table]
        assert len(set(pairs)) == len(pairs)
        assert all(each.reason for each in table)


def test_final_statuses_and_unanswered_asks_follow_from_the_table() -> None:
    assert set(UNFINISHED) | set(FINISHED) == set(RunStatus)
    assert sources(RunStatus.CANCELLED) == UNFINISHED
    assert sources(AskStatus.CANCELLED) == UNANSWERED


@pytest.mark.parametrize("target", AskStatus)
def test_a_statement_for_many_asks_names_the_states_that_it_changes(target: AskStatus) -> None:
    text = str(change_asks(target))

    assert "asks.status" in text
    assert all(f"'{source}'" in text for source in sources(target))


def test_a_statement_that_would_change_the_wrong_rows_is_not_made() -> None:
    with pytest.raises(IllegalTransitionError):
        change_asks(AskStatus.LEASED, AskStatus.RUNNABLE, AskStatus.PARKED)
    with pytest.raises(IllegalTransitionError):
        change_runs(RunStatus.RUNNING, RunStatus.COMPLETED)
    with pytest.raises(IllegalTransitionError):
        all_passed((RunStatus.FAILED, RunStatus.CANCELLED), RunStatus.QUEUED)


def test_the_statuses_of_the_api_and_the_settings_are_those_of_the_record() -> None:
    assert get_args(Status) == tuple(RunStatus)
    assert set(get_args(get_args(bodies.RunSelection.model_fields["status"].annotation)[0])) == set(RunStatus)
    statuses = get_args(ServiceSettings.model_fields["retention_statuses"].annotation)[0]
    assert get_args(statuses) == FINISHED


def test_the_diagrams_in_the_docs_are_drawn_from_the_table() -> None:
    text = PAGE.read_text()

    assert text == page(text), "run: python -m tests.support.state_diagrams"


_ROOT = Path(__file__).parents[3]
_WORDS = frozenset((*RunStatus, *AskStatus))
# Places that speak of the JSON of the API or of exports, or of the past of the schema, and not of the record's columns.
_WIRE = (
    "shared/turnwise/cli/",
    "shared/turnwise/demo/",
    "shared/turnwise/mcp_server/",
    "shared/turnwise/testing/",
    "shared/turnwise/record/database/migrations/",
)
# The types of the API's fields and of a setting; tested above to be the enum's values.
_TYPES = (
    "shared/turnwise/api/runs.py",
    "services/gateway/turnwise_gateway/bodies.py",
    "shared/turnwise/processes/settings.py",
)


@dataclass(frozen=True)
class _Literal:
    file: str
    line: int
    text: str


def _files() -> Iterator[tuple[str, ast.Module]]:
    for folder in ("shared/turnwise", "services"):
        for file in sorted((_ROOT / folder).rglob("*.py")):
            name = file.relative_to(_ROOT).as_posix()
            if not name.startswith(_WIRE) and name not in _TYPES:
                yield name, ast.parse(file.read_text())


def _is_word(node: ast.AST) -> bool:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return any(_is_word(item) for item in node.elts)
    if isinstance(node, ast.IfExp):
        return _is_word(node.body) or _is_word(node.orelse)
    if isinstance(node, ast.Call):
        return any(_is_word(argument) for argument in node.args)
    return isinstance(node, ast.Constant) and node.value in _WORDS


def _is_status(node: ast.AST) -> bool:
    """Return whether an expression reads a run's or an ask's status by name."""
    if isinstance(node, ast.Call):
        return any(_is_status(argument) for argument in node.args)
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        name = str(node.slice.value)
    return name in ("status", "statuses", "run_status", "ask_status")


def _bare(tree: ast.Module) -> Iterator[ast.AST]:
    """Status words that are compared with a status, given as one, or listed as statuses are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(_is_status, sides)) and any(map(_is_word, sides)):
                yield node
        elif isinstance(node, ast.keyword) and node.arg in ("status", "new_status") and _is_word(node.value):
            yield node.value
        elif isinstance(node, ast.Dict):
            keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
            yield from (v for k, v in zip(keys, node.values, strict=True) if k == "status" and _is_word(v))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("finish", "close_ask", "in_"):
            if any(_is_word(argument) for argument in node.args):
                yield node
        elif isinstance(node, ast.Assign) and _is_word(node.value) and any(map(_is_status, node.targets)):
            yield node
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "status " in node.value:
            if any(f"'{word}'" in node.value for word in _WORDS):  # SQL
                yield node
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            words = {item.value for item in node.elts if isinstance(item, ast.Constant)}
            if len(words) > 1 and (words <= set(RunStatus) or words <= set(AskStatus)):
                yield node


def test_no_status_is_written_as_a_bare_string() -> None:
    found = [
        _Literal(name, getattr(node, "lineno", 0), ast.unparse(node)) for name, tree in _files() for node in _bare(tree)
    ]

    assert not found


@pytest.mark.parametrize(
    "source",
    [
        'run.status == "failed"',
        'asks.c.status == word("leased")',
        'row["status"] in ("open", "parked")',
        'transaction.change(status="waiting")',
        'transaction.finish("failed", "ERROR")',
        'row = {"status": "open" if human else "runnable"}',
        "text(\"status IN ('queued')\")",
        'UNFINISHED = ("queued", "running", "waiting")',
        'status = "queued"',
    ],
)
def test_a_bare_string_is_found(source: str) -> None:
    assert list(_bare(ast.parse(source)))
