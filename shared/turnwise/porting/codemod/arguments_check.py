"""Keyword arguments of calls: those that do not exist here, and those without effect."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import libcst as cst
from pydantic import BaseModel

from turnwise.base.configuration import Configuration, refusal
from turnwise.porting.codemod.program import Program, Use
from turnwise.porting.codemod.report import Level
from turnwise.porting.codemod.vocabulary import resolve, without_effect

Found = tuple[int, Level, str]


def check_arguments(program: Program, *, native: bool) -> Iterator[Found]:
    """Yield a finding for each keyword argument of a call that is refused, or has no effect.

    Only calls of names that the program imports are judged: what else is called is not known before it runs.
    """
    for binding in program.bindings:
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
