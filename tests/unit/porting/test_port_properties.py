"""Programs made at random: only imports change, names stay bound, and a second rewriting changes nothing."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st
from tests.support.property_settings import examples

from turnwise.porting.codemod.rewriting import rewrite

MODULES = ["langroid", "langroid.agent", "langroid.agent.task", "langroid.utils.constants", "langroid.language_models"]
OTHERS = ["os", "mine.langroid", "langroid_tools", "turnwise.langroid.agent"]
NAMES = ["Task", "ChatAgent", "DONE", "Unheard", "agent", "OpenAIGPTConfig"]
USES = [
    "lr.ChatAgent",
    "lr.utils.constants.DONE",
    "langroid.agent.task.Task",
    "langroid",
    "Task(x)",
    "lm.Unheard.y",
    "T.z",
]
PLAIN = [
    "x = 'import langroid'  # import langroid as lr",
    '"""from langroid import Task\n  import langroid\n"""',
    "y   =  [ 1,\n      2 ] ; z=(  lr )",
    "lr = 'ü💬'",
    "def f(a: 'lr.ChatAgent', *, b=lr.Task): return langroid.agent",
    "class A(lr.ChatAgent):\n    langroid = 1\n    def g(self): return langroid",
    "print(f'{lr.agent.task.Task!r} {langroid}')",
    "# from langroid import *",
    "del lr",
    "",
]
BLOCKS = ["if x:", "def h():", "try:", "for lr in y:", "class B:", "with q as langroid:"]

aliases = st.sampled_from(["", " as lr", " as lm", " as T", " as langroid"])
imports = st.lists(st.tuples(st.sampled_from(MODULES + OTHERS), aliases), min_size=1, max_size=3).map(
    lambda parts: "import " + ", ".join(f"{module}{alias}" for module, alias in parts)
)
named = st.lists(st.tuples(st.sampled_from(NAMES), aliases), min_size=1, max_size=4)
from_imports = st.tuples(st.sampled_from(MODULES + OTHERS), named, st.sampled_from(["", "(", "(#"])).map(
    lambda drawn: f"from {drawn[0]} import {_listed(*drawn[1:])}"
)
statements = st.one_of(
    imports,
    from_imports,
    st.sampled_from(["from langroid import agent; import langroid as lr", "import os; import langroid.agent"]),
    st.sampled_from(USES),
    st.sampled_from(PLAIN),
)
blocks = st.one_of(
    statements,
    st.tuples(
        st.sampled_from(BLOCKS), st.lists(st.one_of(imports, from_imports, st.sampled_from(USES)), min_size=1)
    ).map(lambda drawn: _block(*drawn)),
)
programs = st.tuples(st.lists(blocks, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans()).map(
    lambda drawn: drawn[1].join("\n".join(drawn[0]).split("\n")) + (drawn[1] if drawn[2] else "")
)


def _listed(names: list[tuple[str, str]], style: str) -> str:
    parts = [f"{name}{alias}" for name, alias in names]
    if style == "(":
        return f"({', '.join(parts)},)"
    if style == "(#":
        return "(\n  " + ",  # why\n  ".join(parts) + "\n)"
    return ", ".join(parts)


def _block(head: str, body: list[str]) -> str:
    inside = "\n".join(f"    {line}" for statement in body for line in statement.split("\n"))
    return f"{head}\n{inside}" + ("\nfinally:\n    pass" if head == "try:" else "")


def without_imports(text: str) -> list[bytes]:
    """The bytes between the import statements of a program."""
    source = text.encode()
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    parts, at = [], 0
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset)):
        assert node.end_lineno is not None and node.end_col_offset is not None
        parts.append(source[at : lines[node.lineno - 1] + node.col_offset])
        at = lines[node.end_lineno - 1] + node.end_col_offset
    return [*parts, source[at:]]


def bound(text: str) -> list[str]:
    """The names that a program's imports bind, each as often as it is bound by another statement."""
    return [
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]


def modules(text: str) -> set[str]:
    """The packages that a program imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found


@examples(20)
@given(programs)
def test_every_byte_outside_of_imports_stays_and_every_name_stays_bound(text: str) -> None:
    after = rewrite(text).after

    assert without_imports(after) == without_imports(text)
    assert set(bound(after)) == set(bound(text))
    assert "langroid" not in modules(after)


@examples(20)
@given(programs, st.booleans())
def test_a_second_rewriting_changes_nothing(text: str, native: bool) -> None:
    after = rewrite(text, native=native).after

    assert rewrite(after, native=native).after == after


@examples(20)
@given(programs)
def test_natively_every_name_stays_bound_but_for_the_package_s_own(text: str) -> None:
    after = rewrite(text, native=True).after

    assert set(bound(text)) - set(bound(after)) <= {"langroid"}
    assert set(bound(after)) - set(bound(text)) <= {"turnwise"}
    assert "langroid" not in modules(after)


@examples(20)
@given(programs)
def test_going_native_by_way_of_turnwise_langroid_imports_nothing_else(text: str) -> None:
    direct = rewrite(text, native=True).after
    two_steps = rewrite(rewrite(text).after, native=True).after

    assert set(bound(two_steps)) | {"langroid", "turnwise"} == set(bound(direct)) | {"langroid", "turnwise"}
