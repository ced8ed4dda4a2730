"""The findings of a rewritten program: names, arguments, strings and attributes that are left to change by hand."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator, Sequence
from typing import cast

import libcst as cst
from libcst import matchers
from pydantic import BaseModel

from turnwise.base.configuration import Configuration, refusal
from turnwise.observability.display import Settings
from turnwise.porting.codemod.program import REFERENCE, Binding, Imported, Program, Use, dotted_name
from turnwise.porting.codemod.report import Level, PortingFinding
from turnwise.porting.codemod.rewriting import Rewritten
from turnwise.porting.codemod.vocabulary import entry, is_module, resolve, same_name, without_effect

Found = tuple[int, Level, str]


def check_names(program: Program, to_turnwise: Collection[Imported]) -> Iterator[Found]:
    """Yield a finding for each import and each use of a name that does not work, or not fully.

    The imports `to_turnwise` bring names of `turnwise` itself.
    """
    for found in program.imports:
        yield from _import(program, found)
    for binding in program.bindings:
        native = _is_native(binding, to_turnwise)
        for use in binding.uses:
            yield from _use(program, use, native=native)


def _is_native(binding: Binding, to_turnwise: Collection[Imported]) -> bool:
    return any(found in to_turnwise for found in binding.imports)


def _import(program: Program, found: Imported) -> Iterator[Found]:
    at = program.start(found.statement if found.alias is None else found.alias)
    if found.bound == "*":
        yield at, Level.NOTE, f"the names that {found.path} brings are not checked"
    elif found.path.partition(".")[0] == REFERENCE:
        yield from _judged(at, found.path)


def _judged(at: int, path: str) -> Iterator[Found]:
    found = entry(path)
    if found is None:
        yield at, Level.TODO, f"{path} does not exist here{_elsewhere(path)}"
    elif found.kind == "absent":
        yield at, Level.TODO, f"{path} does not exist here: {found.sentence}"
    elif found.kind == "accepted":
        yield at, Level.NOTE, f"{path} has no effect here: {found.sentence}"


def _use(program: Program, use: Use, *, native: bool) -> Iterator[Found]:
    """Judge a chain by its first name that is no module, and that name's member behind it."""
    known = [index for index, path in enumerate(use.paths) if not is_module(path)]
    if use.in_string or not known:
        return
    index, at = known[0], program.start(use.nodes[0])
    if index > 0 and use.paths[index].partition(".")[0] == REFERENCE:
        yield from _judged(at, use.paths[index])
    if index + 1 < len(use.paths):
        owner, name = use.paths[index], use.paths[index + 1].rpartition(".")[2]
        yield from _member(at, owner, name, resolve(owner, native=native), native=native)


def _member(at: int, owner: str, name: str, found: object | None, *, native: bool) -> Iterator[Found]:
    """Judge a member of a class or of a value such as `settings`; `found` is None where nothing is known of it."""
    if found is None:
        return
    short = owner.rpartition(".")[2]
    kind = found if isinstance(found, type) else Settings if short == "settings" else type(found)
    sentence = without_effect(kind, name)
    if sentence is not None:
        # Turnwise's own settings refuse what they do not know.
        level = Level.TODO if native or owner.startswith("turnwise.") else Level.NOTE
        yield at, level, f"{short}.{name} has no effect here: {sentence}"
    elif not hasattr(found, name) and name not in getattr(kind, "model_fields", {}):
        yield at, Level.TODO, f"{short} has no {name!r} here"


def _elsewhere(path: str) -> str:
    """Return where a name of the same spelling is, to be put behind a sentence; "" if nowhere."""
    others = same_name(path)
    return f": it is in {' and '.join(others[:2])}" if others else ", and no name is known that stands for it"


def check_arguments(program: Program, to_turnwise: Collection[Imported]) -> Iterator[Found]:
    """Yield a finding for each keyword argument of a call that is refused, or has no effect.

    Only calls of names that the program imports are judged: what else is called is not known before it runs.
    """
    for binding in program.bindings:
        native = _is_native(binding, to_turnwise)
        for use in binding.uses:
            call = program.parent(use.nodes[-1])
            if isinstance(call, cst.Call) and call.func is use.nodes[-1]:
                yield from _call(program, call, use, native=native)


def _call(program: Program, call: cst.Call, use: Use, *, native: bool) -> Iterator[Found]:
    called = resolve(use.path, native=native)
    if called is None or not callable(called):
        return
    natively = native or use.path.startswith("turnwise.")
    for argument in call.args:
        if argument.keyword is not None:
            found = _keyword(called, argument.keyword.value, native=natively)
            if found is not None:
                yield program.start(argument.keyword), *found


def _keyword(called: object, name: str, *, native: bool) -> tuple[Level, str] | None:
    if isinstance(called, type):
        sentence = without_effect(called, name)
        if sentence is not None:
            text = f"{called.__name__}({name}=...) has no effect here: {sentence}"
            # Turnwise's own settings refuse what they do not know.
            return (Level.TODO, f"{text}; remove it") if native else (Level.NOTE, text)
        if issubclass(called, Configuration):
            refused = refusal(called, name)
            return None if refused is None else (Level.TODO, refused)
        if issubclass(called, BaseModel):
            return None  # whatever else a model ignores or takes is its own affair
    if callable(called) and not _takes(called, name):
        return Level.TODO, f"{getattr(called, '__name__', called)} takes no argument {name!r} here"
    return None


def _takes(called: object, name: str) -> bool:
    try:
        parameters = inspect.signature(called).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return True
    anything = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    named = parameters.get(name)
    return anything or (named is not None and named.kind is not inspect.Parameter.POSITIONAL_ONLY)


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


_PATH = re.compile(r"langroid(\.[A-Za-z_]\w*)+")
_SCRIPT = re.compile(rb"^# /// script\s*$.*?^# ///\s*$", re.MULTILINE | re.DOTALL)
_REQUIREMENT = re.compile(rb"""^#\s*(?:dependencies\s*=\s*\[)?[^"'#\n]*["']langroid\b[^"'\n]*["']""", re.MULTILINE)
# Functions whose first argument may be the name of a package.
_TAKE_A_MODULE = {"import_module", "__import__", "find_spec", "version", "reload", "run_module"}


def check_strings(program: Program) -> Iterator[Found]:
    """Yield a finding for each string that is a dotted path of the reference, and for each inline requirement.

    They are not rewritten: whether a string is a module's name, a logger's, or a word is not certain.
    """
    for script in _SCRIPT.finditer(program.source):
        for found in _REQUIREMENT.finditer(program.source, *script.span()):
            at = found.start()
            yield at, Level.TODO, "the script's inline metadata requires langroid: require turnwise instead"
    for node in cast(Sequence[cst.SimpleString], matchers.findall(program.module, matchers.SimpleString())):
        text = node.evaluated_value
        if isinstance(text, str) and not isinstance(program.parent(node), cst.Expr):  # which is a docstring
            yield from _string(program, node, text)


def _string(program: Program, node: cst.SimpleString, text: str) -> Iterator[Found]:
    function = _function_of(program, node)
    if function == "getLogger" and (text == "langroid" or _PATH.fullmatch(text)):
        yield program.start(node), Level.NOTE, f"the logger {text!r} is silent here: Turnwise logs to 'turnwise'"
    elif _PATH.fullmatch(text) or (text == "langroid" and function in _TAKE_A_MODULE):
        said = f"the string {text!r} is left as it is: if it names a module or a function, write 'turnwise.{text}'"
        yield program.start(node), Level.TODO, said


def _function_of(program: Program, node: cst.SimpleString) -> str:
    """Return the name of the function that has a string as its first argument, "" if none."""
    argument = program.parent(node)
    call = program.parent(argument) if isinstance(argument, cst.Arg) else None
    if not isinstance(call, cst.Call) or call.args[0] is not argument:
        return ""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else getattr(call.func, "value", "")


def findings(rewritten: Rewritten, *, written: bool) -> tuple[PortingFinding, ...]:
    """Return what the rewriting does not settle; `written` says whether lines are those after it, or before."""
    program = rewritten.program
    found = [
        *check_names(program, rewritten.to_turnwise),
        *check_arguments(program, rewritten.to_turnwise),
        *check_strings(program),
        *check_attributes(program),
        *((at, Level.NOTE, said) for at, said in rewritten.kept),
    ]
    line = rewritten.line_after if written else rewritten.line_before
    return tuple(
        PortingFinding(line=line(at), level=level, said=said) for at, level, said in sorted(dict.fromkeys(found))
    )
