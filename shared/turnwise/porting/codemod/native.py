"""Imports become imports of Turnwise's own names, as far as there are such names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import libcst as cst
from libcst.metadata import ClassScope

from turnwise.porting.codemod.edits import Edit
from turnwise.porting.codemod.prefix import compatible_edits, import_edits
from turnwise.porting.codemod.program import COMPATIBLE, REFERENCE, Binding, Imported, Program, Use
from turnwise.porting.codemod.vocabulary import is_module, native, top_level, works


@dataclass
class Natively:
    """Edits of a program, the imports that they move to `turnwise` itself, and what stays in `turnwise.langroid`.

    `kept` has the byte of an import, and why it stays.
    """

    edits: list[Edit] = field(default_factory=list)
    to_turnwise: set[Imported] = field(default_factory=set)
    kept: list[tuple[int, str]] = field(default_factory=list)


def native_edits(program: Program) -> Natively:
    """Return the edits that have a program import from `turnwise` itself whatever it can."""
    result = Natively()
    for statement in dict.fromkeys(found.statement for found in program.imports):
        if isinstance(statement, cst.ImportFrom):
            _from(program, statement, result)
    for binding in program.bindings:
        _module(program, binding, result)
    return result


# --- from langroid.agent.task import Task -----------------------------------------------------------------------------


def _from(program: Program, statement: cst.ImportFrom, result: Natively) -> None:
    items = [found for found in program.imports if found.statement is statement]
    if not _to_move(items):
        return
    homes = [native(found.path) for found in items]
    targets = {home.rpartition(".")[0] for home in homes if home is not None}
    start = program.start(statement)
    if len(targets) == 1 and None not in homes:
        result.edits += _moved(program, statement, items, [home for home in homes if home is not None])
        result.to_turnwise.update(items)
    elif not targets or "#" in program.text(statement):
        result.edits += compatible_edits(program, items)
        result.kept += [(start, _stays(found.path)) for found in items if works(found.path)]
    else:
        result.edits.append(Edit(start, program.end(statement), _split(program, statement, items, homes)))
        left = [found for found, home in zip(items, homes, strict=True) if home is None]
        result.to_turnwise.update(set(items).difference(left))
        result.kept += [(start, _stays(found.path)) for found in left if works(found.path)]


def _moved(program: Program, statement: cst.ImportFrom, items: list[Imported], homes: list[str]) -> Iterator[Edit]:
    module = homes[0].rpartition(".")[0]
    assert statement.module is not None
    yield Edit(program.start(statement.module), program.end(statement.module), module)
    for found, home in zip(items, homes, strict=True):
        assert found.alias is not None
        node = found.alias if found.alias.asname is None else found.alias.name
        if home.rpartition(".")[2] != program.text(found.alias.name):
            end = program.end(found.alias.name)
            text = home.rpartition(".")[2] if node is found.alias.name else _named(home, found.bound)
            yield Edit(program.start(found.alias.name), end, text)


def _split(program: Program, statement: cst.ImportFrom, items: list[Imported], homes: list[str | None]) -> str:
    groups: dict[str, list[str]] = {}
    for found, home in zip(items, homes, strict=True):
        if home is None:
            home = f"turnwise.{found.path}"
        groups.setdefault(home.rpartition(".")[0], []).append(_named(home, found.bound))
    line = program.parent(statement)
    alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
    indent = indent_of(program, statement)
    newline = program.module.default_newline
    joint = f"{newline}{indent}" if alone else "; "
    order = sorted(groups, key=lambda module: (module.startswith(COMPATIBLE), module != "turnwise"))
    return joint.join(from_import(module, groups[module], indent if alone else None, newline) for module in order)


def from_import(module: str, names: list[str], indent: str | None, newline: str) -> str:
    """Return `from module import names`, in parentheses if it is too long; with `indent` None always on one line."""
    line = f"from {module} import {', '.join(names)}"
    if indent is None or len(indent) + len(line) <= 88:
        return line
    inner = "".join(f"{indent}    {name},{newline}" for name in names)
    return f"from {module} import ({newline}{inner}{indent})"


def indent_of(program: Program, statement: cst.CSTNode) -> str:
    """Return the white space before the line of a statement."""
    start = program.start(statement)
    line = program.source[program.source.rfind(b"\n", 0, start) + 1 : start].decode()
    return line[: len(line) - len(line.lstrip())]


def _named(home: str, bound: str) -> str:
    name = home.rpartition(".")[2]
    return name if name == bound else f"{name} as {bound}"


# --- import langroid as lr --------------------------------------------------------------------------------------------


def _module(program: Program, binding: Binding, result: Natively) -> None:
    modules = [found for found in binding.imports if isinstance(found.statement, cst.Import)]
    if not _to_move(modules):
        return
    obstacle = _obstacle(program, binding, modules)
    if obstacle is not None:
        result.edits += compatible_edits(program, modules)
        result.kept.append((program.start(modules[0].statement), obstacle))
        return
    result.to_turnwise.update(modules)
    root = _renamed(program, binding) or binding.bound
    for statement in dict.fromkeys(found.statement for found in modules):
        assert isinstance(statement, cst.Import)
        aliases = {found.alias for found in modules if found.statement is statement and found.alias is not None}
        result.edits += import_edits(program, statement, aliases, "turnwise", None if root == "turnwise" else root)
    result.edits += [edit for use in binding.uses if (edit := _shorter(program, use, root)) is not None]


def _obstacle(program: Program, binding: Binding, modules: list[Imported]) -> str | None:
    """Return why a module's name cannot stand for `turnwise` itself, None if it can."""
    stays = f"`{binding.bound}` stays turnwise.langroid"
    paths = {REFERENCE if found.binds_root else found.path for found in binding.imports}
    if binding.bound == "turnwise" or len(modules) < len(binding.imports) or len(paths) > 1:
        return f"{stays}: several imports share the name"
    if binding.shared:
        return f"{stays}: the program gives the name another value, too"
    if isinstance(binding.scope, ClassScope):
        return f"{stays}: it is an attribute of a class, whose uses are not followed"
    missing: dict[str, None] = {}
    for use in binding.uses:
        if use.in_string and not _same_in_string(program, use, binding):
            missing[program.text(use.nodes[0])] = None
        elif not use.in_string and _top(use) is None:
            missing[_written(program, use)] = None
    if not missing:
        return None
    named = ", ".join(list(missing)[:3]) + (", ..." if len(missing) > 3 else "")
    return f"{stays}: no name in `turnwise` itself for {named}"


def _same_in_string(program: Program, use: Use, binding: Binding) -> bool:
    """Tell whether an annotation in a string names only what `turnwise` has under the same name."""
    if binding.imports[0].path != REFERENCE:
        return False
    words = program.text(use.nodes[0]).split(f"{binding.bound}.")[1:]
    names = [_leading_name(word) for word in words]
    return bool(names) and all(name and top_level(f"{REFERENCE}.{name}") == name for name in names)


def _leading_name(text: str) -> str:
    end = next((at for at, letter in enumerate(text) if not (letter.isalnum() or letter == "_")), len(text))
    return text[:end]


def _top(use: Use) -> tuple[cst.BaseExpression, str] | None:
    """Return the part of a chain that is a name of `turnwise`, and that name."""
    for node, path in zip(use.nodes, use.paths, strict=True):
        name = top_level(path)
        if name is not None:
            return node, name
    return None


def _written(program: Program, use: Use) -> str:
    """Return a chain up to the name that the table knows, as the program writes it."""
    known = (node for node, path in zip(use.nodes, use.paths, strict=True) if not is_module(path))
    return program.text(next(known, use.nodes[-1]))


def _renamed(program: Program, binding: Binding) -> str | None:
    """Return "turnwise" where `langroid` may be renamed: without an alias, and that name is free everywhere."""
    if not binding.imports[0].binds_root or binding.bound != REFERENCE:
        return None
    taken = program.binds("turnwise") or any(use.in_string for use in binding.uses)
    return None if taken else "turnwise"


def _shorter(program: Program, use: Use, root: str) -> Edit | None:
    found = None if use.in_string else _top(use)
    if found is None:
        return None
    node, name = found
    text = f"{root}.{name}"
    return None if program.text(node) == text else Edit(program.start(node), program.end(node), text)


# --- both -------------------------------------------------------------------------------------------------------------


def _to_move(items: Iterable[Imported]) -> bool:
    return any(found.path.partition(".")[0] == REFERENCE for found in items)


def _stays(path: str) -> str:
    return f"{path} has no name in `turnwise` itself; it stays in turnwise.langroid"
