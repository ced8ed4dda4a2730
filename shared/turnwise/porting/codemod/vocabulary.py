"""The table of names, as a program's paths ask it."""

from __future__ import annotations

from importlib import import_module

from turnwise.porting.codemod.program import COMPATIBLE, REFERENCE
from turnwise.porting.entries import SETTINGS, NameEntry, entries, find


def entry(path: str) -> NameEntry | None:
    """Return the table's entry for a path such as `langroid.agent.task.Task`, None if it has none."""
    if path == REFERENCE:
        return find("")
    return find(path.removeprefix(f"{REFERENCE}.")) if path.startswith(f"{REFERENCE}.") else None


def native(path: str) -> str | None:
    """Return the public name outside of `turnwise.langroid`, such as `turnwise.Task`; None if there is none."""
    found = entry(path)
    if found is None or found.kind != "ours":
        return None
    # Modules below `turnwise` are not for programs.
    internal = found.native.startswith("turnwise.") and found.native.count(".") > 1
    return None if internal else found.native or None


def top_level(path: str) -> str | None:
    """Return the name that `turnwise` itself has for a path, None if it has none."""
    if path.startswith("turnwise."):
        name = path.removeprefix("turnwise.")
        return None if "." in name or path == COMPATIBLE else name
    module, _, name = (native(path) or "").rpartition(".")
    return name if module == "turnwise" else None


def is_module(path: str) -> bool:
    """Tell whether a path is a module of the table, or `turnwise` itself."""
    found = entry(path)
    return path == "turnwise" or (found is not None and found.kind == "module")


def works(path: str) -> bool:
    """Tell whether a path may be imported and has its meaning, as one of `turnwise.langroid` or of `turnwise`."""
    found = entry(path)
    return path.endswith(".*") or (found is not None and found.kind in {"ours", "module"})


def resolve(path: str, *, native: bool) -> object | None:
    """Return the object of a path, natively that of `turnwise` where it has one.

    None stands for stand-ins, for what is unknown, and for what needs an extra that is not installed.
    """
    name = top_level(path)
    if name is not None and (native or path.startswith("turnwise.")):
        module, attribute = "turnwise", name
    else:
        found = entry(path)
        if found is None or found.kind != "ours":
            return None
        module, _, attribute = found.target.partition(":")
    try:
        return getattr(import_module(module), attribute, None)
    except ModuleNotFoundError:
        return None


def without_effect(found: type, name: str) -> str | None:
    """Return why a setting of a class has no effect, None if it has one or is not known."""
    for each in found.__mro__:
        sentence = SETTINGS.get(each.__name__, {}).get(name)
        if sentence is not None:
            return sentence
    return None


def same_name(path: str) -> list[str]:
    """Return the modules that programs may take a name of this spelling from, in their own terms."""
    name = path.rpartition(".")[2]
    found = [
        each.path for each in entries() if each.kind in {"ours", "accepted"} and each.path.rpartition(".")[2] == name
    ]
    return sorted(
        {f"turnwise.langroid.{each}".rpartition(".")[0] for each in found}, key=lambda module: (len(module), module)
    )
