"""The findings of a rewritten program, in the order of its lines."""

from __future__ import annotations

from turnwise.porting.codemod.arguments_check import check_arguments
from turnwise.porting.codemod.attributes_check import check_attributes
from turnwise.porting.codemod.names_check import check_names
from turnwise.porting.codemod.report import Level, PortingFinding
from turnwise.porting.codemod.rewriting import Rewritten
from turnwise.porting.codemod.strings_check import check_strings


def findings(rewritten: Rewritten, *, native: bool, written: bool) -> tuple[PortingFinding, ...]:
    """Return what the rewriting does not settle; `written` says whether lines are those after it, or before."""
    program = rewritten.program
    found = [
        *check_names(program, native=native),
        *check_arguments(program, native=native),
        *check_strings(program),
        *check_attributes(program),
        *((at, Level.NOTE, said) for at, said in rewritten.kept),
    ]
    line = rewritten.line_after if written else rewritten.line_before
    return tuple(
        PortingFinding(line=line(at), level=level, said=said) for at, level, said in sorted(dict.fromkeys(found))
    )
