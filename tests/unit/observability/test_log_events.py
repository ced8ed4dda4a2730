"""The catalogue of log lines: every call of a logger keeps to it, and the page lists it."""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.observability.log_events import BY_GROUP, CATALOGUE, CONTEXT
from turnwise.record.transaction import journal

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "log-events.md"
FOLDERS = (ROOT / "shared", ROOT / "services")
# Lines of simulated processes are seen by no operator.
APART = ("testing",)
# Files that take the action from elsewhere, and which ones that can be.
CHOSEN = {
    "journal.py": {
        "run_accepted", "run_ended", "run_failed", "run_retried", "limit_reached", "call_retried", "ask_deferred",
        "ask_released", "ask_parked", "ask_resolved", "lease_taken_over",
    },
    "dispatcher.py": {"publish_failed", "wake_failed", "cancel_notice_failed"},
    "sweeping_part.py": {"run_not_swept", "ask_not_taken_over"},
}  # fmt: skip
_LEVELS = {"exception": "ERROR"}


def calls() -> Iterator[tuple[Path, ast.Call, str]]:
    """Every call of a logger in the product, with the level's name."""
    for file in (file for folder in FOLDERS for file in folder.rglob("*.py")):
        if any(part in APART for part in file.parts):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                target, name = node.func.value, node.func.attr
                if isinstance(target, ast.Name) and target.id == "logger" and name != "isEnabledFor":
                    yield file, node, _LEVELS.get(name, name.upper())


def actions(file: Path, call: ast.Call) -> list[tuple[str, set[str]]]:
    """The actions that a call may write, with the fields that it names itself."""
    extra = next((keyword.value for keyword in call.keywords if keyword.arg == "extra"), None)
    where = f"{file.relative_to(ROOT)}:{call.lineno}"
    if isinstance(extra, ast.Name) or (isinstance(extra, ast.Dict) and not _action(extra)):
        if file.name in CHOSEN:
            return [(name, set()) for name in CHOSEN[file.name]]
        assert isinstance(extra, ast.Name), f"{where} has no action"
        extra = _assigned(file, extra.id, call.lineno)
    assert isinstance(extra, ast.Dict), f"{where} has no extra with an action"
    keys = {key.value for key in extra.keys if isinstance(key, ast.Constant)}
    return [(_action(extra), {str(key) for key in keys} - {"action"})]


def _action(extra: ast.Dict) -> str:
    for key, value in zip(extra.keys, extra.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "action" and isinstance(value, ast.Constant):
            return str(value.value)
    return ""


def _assigned(file: Path, name: str, before: int) -> ast.expr:
    """The last value that the variable was given before that line."""
    found = [
        node
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Assign)
        and node.lineno < before
        and name in {ast.unparse(each) for each in node.targets}
    ]
    return max(found, key=lambda node: node.lineno).value


def test_every_line_has_an_action_of_the_catalogue_with_its_level_and_fields() -> None:
    wrong = []
    for file, call, level in calls():
        for action, fields in actions(file, call):
            event = CATALOGUE.get(action)
            where = f"{file.relative_to(ROOT)}:{call.lineno}: {action}"
            if event is None:
                wrong.append(f"{where} is not in the catalogue")
            elif level != "LOG" and logging.getLevelName(event.level) != level:
                wrong.append(f"{where} is written at {level}")
            elif fields - set(event.fields) - set(CONTEXT):
                wrong.append(f"{where} has the fields {sorted(fields - set(event.fields) - set(CONTEXT))}")

    assert wrong == [], "\n".join(wrong)


def test_every_line_of_the_catalogue_is_written_somewhere() -> None:
    written = {action for file, call, _ in calls() for action, _ in actions(file, call)}

    assert set(CATALOGUE) - written == {"line_lost"}  # by the handler itself


def test_the_lines_of_the_record_are_those_that_its_file_writes() -> None:
    source = Path(journal.__file__).read_text()

    assert {name for name in CATALOGUE if f'"{name}"' in source} == CHOSEN["journal.py"]


def test_the_page_lists_the_catalogue() -> None:
    expected = [
        (
            event.action,
            logging.getLevelName(event.level),
            ", ".join(f"`{name}`" for name in event.fields),
            event.meaning,
        )
        for events in BY_GROUP.values()
        for event in events
    ]

    listed = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) ?\| (.*) \|$", PAGE.read_text(), flags=re.MULTILINE)

    assert listed == expected
    assert re.findall(r"^## (.*)$", PAGE.read_text(), flags=re.MULTILINE)[-len(BY_GROUP) :] == list(BY_GROUP)


@pytest.mark.parametrize("name", CONTEXT)
def test_the_page_explains_the_fields_of_every_line(name: str) -> None:
    assert f"`{name}`" in PAGE.read_text()
