"""Imports of the reference implementation become imports of `turnwise.langroid`; every name stays bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from turnwise.porting.codemod.edits import Edit
from turnwise.porting.codemod.program import COMPATIBLE, REFERENCE, Imported, Program, dotted_name


def compatible_edits(program: Program, imports: Iterable[Imported]) -> list[Edit]:
    """Return the edits that have these imports name `turnwise.langroid`; none for those that do already."""
    chosen = set(imports)
    statements = {found.statement: None for found in program.imports if found in chosen}
    return [edit for statement in statements for edit in _edits(program, statement, chosen)]


def _edits(program: Program, statement: cst.Import | cst.ImportFrom, chosen: set[Imported]) -> Iterator[Edit]:
    if isinstance(statement, cst.ImportFrom):
        if statement.module is not None and _of_reference(statement.module):
            start = program.start(statement.module)
            yield Edit(start, start, "turnwise.")
        return
    aliases = {found.alias for found in chosen if found.statement is statement}
    yield from import_edits(
        program, statement, {alias for alias in aliases if alias is not None}, COMPATIBLE, REFERENCE
    )


def import_edits(
    program: Program, statement: cst.Import, aliases: set[cst.ImportAlias], package: str, root: str | None
) -> Iterator[Edit]:
    """Yield the edits of `import a, b as c` that have its `aliases` name `package`.

    One with an alias keeps its sub-module's path if `package` is `turnwise.langroid`. One without binds its root's name
    as before, or `package` itself if `root` is None; where two of them become the same, the first one stays.
    """
    whole: cst.ImportAlias | None = None
    for index, alias in enumerate(statement.names):
        if alias not in aliases or not _movable(alias, package):
            continue
        if alias.asname is not None:
            if package == COMPATIBLE:
                yield Edit(program.start(alias.name), program.start(alias.name), "turnwise.")
            else:
                yield Edit(program.start(alias.name), program.end(alias.name), package)
        elif whole is None:
            whole = alias
            text = package if root is None else f"{package} as {root}"
            yield Edit(program.start(alias.name), program.end(alias.name), text)
        else:
            yield Edit(program.end(_last(statement.names[index - 1])), program.end(alias.name), "")


def _last(alias: cst.ImportAlias) -> cst.CSTNode:
    return alias.asname.name if alias.asname is not None else alias.name


def _movable(alias: cst.ImportAlias, package: str) -> bool:
    name = alias.name
    return _of_reference(name) or (package != COMPATIBLE and dotted_name(name).startswith(COMPATIBLE))


def _of_reference(node: cst.BaseExpression) -> bool:
    return dotted_name(node).partition(".")[0] == REFERENCE
