"""One program's text with its imports rewritten."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from turnwise.errors import PortingError
from turnwise.porting.codemod.edits import Edit, SourceLines, apply, moved
from turnwise.porting.codemod.merging import merging_edits
from turnwise.porting.codemod.native import Natively, native_edits
from turnwise.porting.codemod.prefix import compatible_edits
from turnwise.porting.codemod.program import Imported, Program
from turnwise.porting.codemod.report import Change


@dataclass(frozen=True)
class Rewritten:
    """A program before and after.

    `to_turnwise` are the imports that bring names of `turnwise` itself afterwards; `kept` are some that stay in
    `turnwise.langroid`, each with its byte in `program`, and why.
    """

    program: Program
    after: str
    changes: tuple[Change, ...]
    to_turnwise: frozenset[Imported]
    kept: tuple[tuple[int, str], ...]
    # What was edited, one pass after the other.
    passes: tuple[list[Edit], ...]

    def line_before(self, offset: int) -> int:
        """Return the line of a byte of `program`."""
        return SourceLines(self.program.source).of(offset)

    def line_after(self, offset: int) -> int:
        """Return the line where a byte of `program` is afterwards."""
        found = re.match(rb"\w+", self.program.source[offset : offset + 100])
        for edits in self.passes:
            offset = moved(offset, edits, found[0] if found else b"")
        return SourceLines(self.after.encode()).of(offset)


def rewrite(text: str, *, native: bool = False) -> Rewritten:
    """Return a program with its imports rewritten, to `turnwise.langroid` or, natively, to `turnwise` itself.

    Raises `PortingError` if the program, or what becomes of it, cannot be parsed.
    """
    program = Program(text)
    natively = native_edits(program) if native else Natively(compatible_edits(program, program.imports))
    edits = natively.edits
    after = apply(program.source, edits)
    merging = merging_edits(Program(after.decode())) if native and edits else []
    after = apply(after, merging)
    _check(text, after.decode())
    to_turnwise, kept = frozenset(natively.to_turnwise), tuple(natively.kept)
    return Rewritten(program, after.decode(), _changes(program, edits), to_turnwise, kept, (edits, merging))


def _changes(program: Program, edits: list[Edit]) -> tuple[Change, ...]:
    """Tell the edits as whole lines, several edits of one line together."""
    lines = SourceLines(program.source)
    groups: dict[tuple[int, int], list[Edit]] = {}
    for edit in sorted(edits):
        start = program.source.rfind(b"\n", 0, edit.start) + 1
        end = program.source.find(b"\n", edit.end)
        groups.setdefault((start, len(program.source) if end < 0 else end), []).append(edit)
    changes = []
    for (start, end), group in groups.items():
        inside = [Edit(edit.start - start, edit.end - start, edit.text) for edit in group]
        before = program.source[start:end]
        changes.append(Change(line=lines.of(start), before=_one_line(before), after=_one_line(apply(before, inside))))
    return tuple(changes)


def _one_line(source: bytes) -> str:
    return " ".join(source.decode().split())


def _check(before: str, after: str) -> None:
    """Raise `PortingError` if the result is no program, though the input was one."""
    try:
        ast.parse(after)
    except (SyntaxError, ValueError, RecursionError) as error:
        try:
            ast.parse(before)
        except (SyntaxError, ValueError, RecursionError):
            raise PortingError(f"cannot be parsed by this Python: {error}") from error
        raise PortingError(f"its imports cannot be rewritten: {error}; please report this") from error
