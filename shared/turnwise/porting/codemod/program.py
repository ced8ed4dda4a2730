"""Imports of the vocabulary in a program, and every use of the names that they bind.

Names are told by their path in the reference implementation, `langroid.agent.task.Task`, also where a program imports
`turnwise.langroid` by now. A name imported from `turnwise` itself keeps its path, `turnwise.Task`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import libcst as cst
from libcst import matchers
from libcst.metadata import (
    ByteSpanPositionProvider,
    ImportAssignment,
    MetadataWrapper,
    ParentNodeProvider,
    Scope,
    ScopeProvider,
)

from turnwise.errors import PortingError

REFERENCE = "langroid"
COMPATIBLE = "turnwise.langroid"
ROOTS = (REFERENCE, "turnwise")


def reference_path(dotted: str) -> str | None:
    """Return the path in the reference's terms, or None if the name belongs to someone else."""
    root = dotted.partition(".")[0]
    if root not in ROOTS:
        return None
    if dotted == COMPATIBLE or dotted.startswith(f"{COMPATIBLE}."):
        return dotted.removeprefix("turnwise.")
    return dotted


@dataclass(frozen=True, eq=False)
class Imported:
    """One name of an import statement: `path` is what it brings, `bound` what the program calls it ("*": all)."""

    statement: cst.Import | cst.ImportFrom
    alias: cst.ImportAlias | None
    path: str
    bound: str

    @property
    def binds_root(self) -> bool:
        """Tell whether it is `import a.b.c`, which binds `a`."""
        return isinstance(self.statement, cst.Import) and self.alias is not None and self.alias.asname is None


@dataclass(frozen=True, eq=False)
class Use:
    """A use of a bound name with all attributes behind it: `nodes[i]` stands for the path `paths[i]`.

    The node of a use inside of a string (an annotation) is that string, with the name's own path only.
    """

    nodes: tuple[cst.BaseExpression, ...]
    paths: tuple[str, ...]

    @property
    def in_string(self) -> bool:
        """Tell whether the name stands in an annotation that is a string."""
        return not isinstance(self.nodes[0], cst.Name | cst.Attribute)

    @property
    def path(self) -> str:
        """Path of the whole chain."""
        return self.paths[-1]


@dataclass(eq=False)
class Binding:
    """A name of a scope that imports of the vocabulary bind. `shared`: something else binds it as well."""

    scope: Scope
    bound: str
    imports: list[Imported] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    shared: bool = False


class Program:
    """A parsed program. Raises `PortingError` if it is no Python."""

    def __init__(self, text: str) -> None:
        try:
            module = cst.parse_module(text)
        except cst.ParserSyntaxError as error:
            raise PortingError(f"line {error.raw_line} cannot be parsed: {error.message}") from error
        if module.code != text:
            raise PortingError("cannot be printed as it was parsed")
        self._wrapper = MetadataWrapper(module)
        self.module = self._wrapper.module
        self.source = text.encode()
        self._spans = self._wrapper.resolve(ByteSpanPositionProvider)
        self._parents = self._wrapper.resolve(ParentNodeProvider)
        self._scopes = self._wrapper.resolve(ScopeProvider)
        self.imports = [found for statement in _import_statements(self.module) for found in _imported(statement)]
        self.bindings = list(self._bindings())

    def start(self, node: cst.CSTNode) -> int:
        """Return the byte where a node starts."""
        start: int = self._spans[node].start
        return start

    def end(self, node: cst.CSTNode) -> int:
        """Return the byte after a node's last."""
        return self.start(node) + int(self._spans[node].length)

    def text(self, node: cst.CSTNode) -> str:
        """Return the source of a node."""
        return self.source[self.start(node) : self.end(node)].decode()

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node around another."""
        found = self._parents.get(node)
        return found if isinstance(found, cst.CSTNode) else None

    def binds(self, name: str) -> bool:
        """Tell whether a name is bound in any scope."""
        scopes = {scope for scope in self._scopes.values() if scope is not None}
        return any(each.name.partition(".")[0] == name for scope in scopes for each in scope.assignments)

    def _bindings(self) -> Iterator[Binding]:
        by_statement: dict[cst.CSTNode, list[Imported]] = {}
        for found in self.imports:
            by_statement.setdefault(found.statement, []).append(found)
        for scope in _in_order({scope for scope in self._scopes.values() if scope is not None}, self):
            names = {
                found.bound: None
                for each in scope.assignments
                if isinstance(each, ImportAssignment)
                for found in by_statement.get(each.node, ())
                if found.bound != "*"
            }
            for name in names:
                yield self._binding(scope, name, by_statement)

    def _binding(self, scope: Scope, name: str, by_statement: dict[cst.CSTNode, list[Imported]]) -> Binding:
        binding = Binding(scope, name)
        accesses: dict[cst.CSTNode, None] = {}
        for each in scope.assignments:
            if each.name.partition(".")[0] != name:
                continue
            accesses.update((access.node, None) for access in each.references)
            ours = by_statement.get(each.node, []) if isinstance(each, ImportAssignment) else []
            brought = [found for found in ours if found.bound == name and found not in binding.imports]
            binding.imports += brought
            binding.shared |= not any(found.bound == name for found in ours)
        binding.imports.sort(key=lambda found: self.start(found.statement))
        base = name if binding.imports[0].binds_root else binding.imports[0].path
        uses = {use.nodes[-1]: use for use in (self._use(node, base) for node in accesses)}
        binding.uses = sorted(uses.values(), key=lambda use: self.start(use.nodes[0]))
        return binding

    def _use(self, node: cst.CSTNode, base: str) -> Use:
        if not isinstance(node, cst.Name | cst.Attribute):
            return Use((cast(cst.BaseExpression, node),), (base,))
        while isinstance(node, cst.Attribute):
            node = node.value
        nodes: list[cst.BaseExpression] = [node]
        paths = [base]
        while isinstance(around := self.parent(nodes[-1]), cst.Attribute) and around.value is nodes[-1]:
            nodes.append(around)
            paths.append(f"{paths[-1]}.{around.attr.value}")
        return Use(tuple(nodes), tuple(reference_path(path) or path for path in paths))


def _in_order(scopes: set[Scope], program: Program) -> list[Scope]:
    def first(scope: Scope) -> int:
        return min(
            (program.start(each.node) for each in scope.assignments if isinstance(each, ImportAssignment)), default=0
        )

    return sorted(scopes, key=first)


def _import_statements(module: cst.Module) -> list[cst.Import | cst.ImportFrom]:
    return cast(list[cst.Import | cst.ImportFrom], matchers.findall(module, matchers.Import() | matchers.ImportFrom()))


def _imported(statement: cst.Import | cst.ImportFrom) -> Iterator[Imported]:
    if isinstance(statement, cst.Import):
        for alias in statement.names:
            path = reference_path(dotted_name(alias.name))
            if path is not None:
                bound = _asname(alias) or dotted_name(alias.name).partition(".")[0]
                yield Imported(statement, alias, path, bound)
        return
    module = None if statement.relative or statement.module is None else reference_path(dotted_name(statement.module))
    if module is None:
        return
    if isinstance(statement.names, cst.ImportStar):
        yield Imported(statement, None, f"{module}.*", "*")
        return
    for alias in statement.names:
        name = dotted_name(alias.name)
        path = reference_path(f"{module}.{name}") or f"{module}.{name}"
        yield Imported(statement, alias, path, _asname(alias) or name)


def _asname(alias: cst.ImportAlias) -> str | None:
    return alias.asname.name.value if alias.asname is not None and isinstance(alias.asname.name, cst.Name) else None


def dotted_name(node: cst.BaseExpression) -> str:
    """Return `a.b.c` of a chain of attributes over a name, without the space that may stand between."""
    if isinstance(node, cst.Attribute):
        return f"{dotted_name(node.value)}.{node.attr.value}"
    name: str = cast(cst.Name, node).value
    return name
