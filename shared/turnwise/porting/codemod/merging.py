"""Several `from turnwise import ...` that follow each other become one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import libcst as cst
from libcst import SimpleStatementLine, matchers

from turnwise.porting.codemod.edits import Edit
from turnwise.porting.codemod.native import from_import, indent_of
from turnwise.porting.codemod.program import Program, dotted_name


def merging_edits(program: Program) -> list[Edit]:
    """Return the edits that merge imports from `turnwise` with nothing but imports between them.

    An import with a comment of its own, above, behind or in it, stays.
    """
    edits: list[Edit] = []
    for body in _bodies(program.module):
        for run in _runs(body):
            mergeable = [line for line in run if _names(line) and not _commented(program, line)]
            if len(mergeable) > 1:
                edits += _merge(program, mergeable)
    return edits


def _bodies(module: cst.Module) -> list[Sequence[cst.BaseStatement]]:
    blocks = cast(Sequence[cst.IndentedBlock], matchers.findall(module, matchers.IndentedBlock()))
    return [[line for line in module.body if isinstance(line, cst.BaseStatement)], *(block.body for block in blocks)]


def _runs(body: Sequence[cst.BaseStatement]) -> Iterator[list[SimpleStatementLine]]:
    run: list[SimpleStatementLine] = []
    for line in body:
        if isinstance(line, SimpleStatementLine) and all(
            isinstance(part, cst.Import | cst.ImportFrom) for part in line.body
        ):
            run.append(line)
        else:
            yield run
            run = []
    yield run


def _names(line: SimpleStatementLine) -> Sequence[cst.ImportAlias]:
    """Return the names of a line that is `from turnwise import a, b` alone."""
    part = line.body[0]
    if len(line.body) > 1 or not isinstance(part, cst.ImportFrom) or part.relative or part.module is None:
        return ()
    if dotted_name(part.module) != "turnwise" or isinstance(part.names, cst.ImportStar):
        return ()
    names: Sequence[cst.ImportAlias] = part.names
    return names


def _commented(program: Program, line: SimpleStatementLine) -> bool:
    above = any(empty.comment is not None for empty in line.leading_lines)
    return above or line.trailing_whitespace.comment is not None or "#" in program.text(line)


def _merge(program: Program, lines: list[SimpleStatementLine]) -> Iterator[Edit]:
    first, *others = lines
    named = dict.fromkeys(_as_written(program, alias) for line in lines for alias in _names(line))
    text = from_import("turnwise", list(named), indent_of(program, first.body[0]), program.module.default_newline)
    yield Edit(program.start(first.body[0]), program.end(first.body[0]), text)
    for line in others:
        yield _without(program, line)


def _as_written(program: Program, alias: cst.ImportAlias) -> str:
    name = program.text(alias.name)
    return name if alias.asname is None else f"{name} as {program.text(alias.asname.name)}"


def _without(program: Program, line: SimpleStatementLine) -> Edit:
    """Remove a line, and the empty lines above it where others follow it."""
    source = program.source
    start = source.rfind(b"\n", 0, program.start(line)) + 1
    end = source.find(b"\n", program.end(line)) + 1 or len(source)
    after = source[end : source.find(b"\n", end) + 1 or len(source)]
    if after.strip() == b"":
        while start and source[source.rfind(b"\n", 0, start - 1) + 1 : start].strip() == b"":
            start = source.rfind(b"\n", 0, start - 1) + 1
    return Edit(start, end, "")
