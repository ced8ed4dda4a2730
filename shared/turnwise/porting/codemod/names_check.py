"""Names that do not exist here, or have no effect."""

from __future__ import annotations

from collections.abc import Iterator

from turnwise.observability.display import Settings
from turnwise.porting.codemod.program import REFERENCE, Imported, Program, Use
from turnwise.porting.codemod.report import Level
from turnwise.porting.codemod.vocabulary import entry, is_module, resolve, same_name, without_effect

Found = tuple[int, Level, str]


def check_names(program: Program, *, native: bool) -> Iterator[Found]:
    """Yield a finding for each import and each use of a name that does not work, or not fully."""
    for found in program.imports:
        yield from _import(program, found)
    for binding in program.bindings:
        for use in binding.uses:
            yield from _use(program, use, native=native)


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
