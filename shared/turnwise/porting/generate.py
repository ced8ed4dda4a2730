"""Write the modules of `turnwise.langroid` from the table: `python -m turnwise.porting.generate`."""

from __future__ import annotations

from pathlib import Path

from turnwise.porting.entries import children, find
from turnwise.porting.table import MODULES
from turnwise.porting.values import Absent, Accepted

_PACKAGE = "turnwise.langroid"
_HOME = Path(__file__).parents[1] / "langroid"
_LINE_LENGTH = 120


def sources() -> dict[str, str]:
    """Return the text of each file of the package, by its path in the package."""
    return {_file(module): _source(module) for module in MODULES if _has_file(module)}


def _has_file(module: str) -> bool:
    entry = find(module)
    return entry is not None and entry.kind == "module"


def _file(module: str) -> str:
    path = module.replace(".", "/")
    return f"{path}/__init__.py".lstrip("/") if children(module) else f"{path}.py"


def _source(module: str) -> str:
    names = {name: _target(value) for name, value in MODULES[module].items() if not isinstance(value, Absent)}
    modules = [name for name in children(module) if _has_file(f"{module}.{name}".lstrip("."))]
    lines = [
        f'"""Names of `{f"langroid.{module}".rstrip(".")}`, made from the table by `turnwise.porting.generate`."""',
        "",
    ]
    lines += ["from __future__ import annotations", ""]
    if names or modules:
        lines += ["from typing import TYPE_CHECKING", "", "if TYPE_CHECKING:", *_imports(names, module, modules), ""]
        lines += ["__all__ = [", *(f'    "{name}",' for name in sorted({*names, *modules}, key=_as_ruff)), "]", ""]
        lines += ["if not TYPE_CHECKING:", *_run_time(module, "    ")]
    else:
        lines += _run_time(module, "")
    return "\n".join(lines) + "\n"


def _target(value: str | Accepted | Absent) -> str:
    return value.target if isinstance(value, Accepted) else str(value)


def _imports(names: dict[str, str], module: str, modules: list[str]) -> list[str]:
    homes: dict[str, list[str]] = {}
    for name, target in names.items():
        homes.setdefault(target.partition(":")[0], []).append(name)
    if modules:
        homes.setdefault(f"{_PACKAGE}.{module}".rstrip("."), []).extend(modules)
    blocks = []
    for own in (False, True):
        found = sorted(home for home in homes if home.startswith("turnwise") == own)
        blocks.append([line for home in found for line in _import(home, sorted(homes[home], key=_as_imported))])
    others, ours = blocks
    return [*others, "", *ours] if others and ours else others + ours


def _import(home: str, names: list[str]) -> list[str]:
    line = f"    from {home} import {', '.join(names)}"
    if len(line) <= _LINE_LENGTH:
        return [line]
    return [f"    from {home} import (", *(f"        {name}," for name in names), "    )"]


def _run_time(module: str, indent: str) -> list[str]:
    lines = ["from turnwise.porting.modules import lend", ""]
    if not module:
        lines = ["from turnwise.porting.modules import lend, refuse_absent_names", "", "refuse_absent_names()"]
    elif not children(module):
        # With a path, absent names can be refused with a sentence; see `turnwise.porting.modules`.
        lines += ["__path__: list[str] = []"]
    lines += ["__getattr__, __dir__ = lend(__name__)"]
    return [f"{indent}{line}".rstrip() for line in lines]


def _as_ruff(name: str) -> tuple[int, str]:
    """The order that the linter wants: constants, classes, the rest."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def _as_imported(name: str) -> tuple[int, str]:
    return (_as_ruff(name)[0], name.lower())


def main() -> None:
    """Write the files that differ, and remove those that the table no longer names."""
    wanted = sources()
    for file in _HOME.rglob("*.py"):
        if str(file.relative_to(_HOME)) not in wanted:
            file.unlink()
    for name, text in wanted.items():
        file = _HOME / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


if __name__ == "__main__":
    main()
