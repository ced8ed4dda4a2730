"""Attributes of agents and tasks that a served run cannot keep from one turn to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import libcst as cst
from libcst import matchers

from turnwise.porting.codemod.program import Program, Use, dotted_name
from turnwise.porting.codemod.report import Level
from turnwise.porting.codemod.vocabulary import resolve

Found = tuple[int, Level, str]

_KEPT = {"Agent", "ChatAgent", "Task"}
# Calls whose result is certainly no value that can be written down.
_LIVE = {
    "open": "an open file",
    "threading.Lock": "a lock",
    "threading.RLock": "a lock",
    "threading.Event": "an event",
    "threading.Thread": "a thread",
    "asyncio.Lock": "a lock",
    "asyncio.Event": "an event",
    "asyncio.Queue": "a queue",
    "asyncio.create_task": "an asyncio task",
    "queue.Queue": "a queue",
    "sqlite3.connect": "a database connection",
    "subprocess.Popen": "a process",
    "requests.Session": "an HTTP client",
    "httpx.Client": "an HTTP client",
    "httpx.AsyncClient": "an HTTP client",
}


def check_attributes(program: Program) -> Iterator[Found]:
    """Yield a finding for each `self.x = value` of an agent or task, outside of `__init__`, that cannot be saved.

    Only what is certain counts: a class that names an agent or task of the vocabulary as its base, and a value that is
    written as a lambda, a generator, a handle of the operating system, or another agent or task.
    """
    uses = {use.nodes[-1]: use for binding in program.bindings for use in binding.uses}
    classes = cast(Sequence[cst.ClassDef], matchers.findall(program.module, matchers.ClassDef()))
    for node in classes:
        if any(_kept(uses.get(base.value)) for base in node.bases):
            yield from _class(program, node, uses)


def _kept(use: Use | None) -> bool:
    kind = None if use is None or use.in_string else resolve(use.path, native=False)
    return isinstance(kind, type) and any(each.__name__ in _KEPT for each in kind.__mro__)


def _class(program: Program, node: cst.ClassDef, uses: dict[cst.BaseExpression, Use]) -> Iterator[Found]:
    methods = [each for each in node.body.body if isinstance(each, cst.FunctionDef)]
    setting_up = _called_in_init(methods) | {"__init__"}
    for method in methods:
        if method.name.value in setting_up or not method.params.params:
            continue
        own = method.params.params[0].name.value
        for target, value in _assignments(method):
            kind = _unsaved(value, uses)
            if kind is not None and isinstance(target.value, cst.Name) and target.value.value == own:
                name = target.attr.value
                said = f"a served run cannot keep {kind} in {own}.{name} between turns; make it where it is used"
                yield program.start(target), Level.NOTE, f"{said}, or in the factory of the task"


def _called_in_init(methods: list[cst.FunctionDef]) -> set[str]:
    """Return the methods that `__init__` calls: they may set up the agent that every turn begins with."""
    own = matchers.Call(func=matchers.Attribute())
    return {
        call.func.attr.value
        for method in methods
        if method.name.value == "__init__"
        for call in matchers.findall(method, own)
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
    }


def _assignments(method: cst.FunctionDef) -> list[tuple[cst.Attribute, cst.BaseExpression]]:
    found: list[tuple[cst.Attribute, cst.BaseExpression]] = []
    for node in matchers.findall(method, matchers.Assign() | matchers.AnnAssign()):
        if isinstance(node, cst.Assign):
            found += [(each.target, node.value) for each in node.targets if isinstance(each.target, cst.Attribute)]
        elif isinstance(node, cst.AnnAssign) and isinstance(node.target, cst.Attribute) and node.value is not None:
            found.append((node.target, node.value))
    return found


def _unsaved(value: cst.BaseExpression, uses: dict[cst.BaseExpression, Use]) -> str | None:
    """Return the kind of a value that certainly cannot be saved, None for any other."""
    if isinstance(value, cst.Lambda):
        return "a lambda"
    if isinstance(value, cst.GeneratorExp):
        return "a generator"
    if not isinstance(value, cst.Call):
        return None
    if _kept(uses.get(value.func)):
        return "an agent or a task"
    if isinstance(value.func, cst.Name) or (
        isinstance(value.func, cst.Attribute) and isinstance(value.func.value, cst.Name)
    ):
        return _LIVE.get(dotted_name(value.func))
    return None
