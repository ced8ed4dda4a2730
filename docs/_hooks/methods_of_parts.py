"""Show a method that a class takes from a module of functions, `clear = editing.clear`, as if it was written there."""

from __future__ import annotations

import griffe


class MethodsOfParts(griffe.Extension):
    """Puts the function in place of such an attribute, without its first parameter, which is the object."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: object) -> None:
        """Look through all classes once everything is loaded."""
        for module in _modules(pkg):
            for kind in [member for member in module.members.values() if isinstance(member, griffe.Class)]:
                for name, member in list(kind.members.items()):
                    function = _function_behind(member, loader)
                    if function is not None:
                        kind.set_member(name, _as_method(name, function, member))


def _modules(module: griffe.Module) -> list[griffe.Module]:
    inner = [member for member in module.members.values() if isinstance(member, griffe.Module)]
    return [module, *(each for one in inner for each in _modules(one))]


def _function_behind(member: griffe.Object | griffe.Alias, loader: griffe.GriffeLoader) -> griffe.Function | None:
    if not isinstance(member, griffe.Attribute) or not isinstance(member.value, griffe.ExprAttribute):
        return None
    try:
        found = loader.modules_collection[member.value.canonical_path]
    except KeyError:
        return None
    return found if isinstance(found, griffe.Function) else None


def _as_method(name: str, function: griffe.Function, member: griffe.Attribute) -> griffe.Function:
    method = griffe.Function(
        name,
        parameters=griffe.Parameters(griffe.Parameter("self"), *list(function.parameters)[1:]),
        returns=function.returns,
        docstring=function.docstring,
        lineno=member.lineno,
        endlineno=member.endlineno,
    )
    method.labels = set(function.labels)
    return method
