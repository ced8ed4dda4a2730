"""Strings and comments that name the reference implementation, where a program depends on them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import cast

import libcst as cst
from libcst import matchers

from turnwise.porting.codemod.program import Program
from turnwise.porting.codemod.report import Level

Found = tuple[int, Level, str]

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
