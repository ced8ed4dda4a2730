"""The console's modules in two files: those of the first page, and those of all others.

A browser spends some milliseconds on each module that it loads, however small and even from its cache. So the gateway
joins them as it reads them: each becomes a function that gives its exports, after all that it imports. The text of a
module stays as it is but for its imports and exports, which have the few forms that are known here.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Mapping

FIRST, OTHERS = "console.js", "pages.js"
# The first page begins here.
_ENTRY = "app.js"
_IMPORT = re.compile(r"""^import\s*(?:(\w+)|\{([^}]*)\})\s*from\s*["'](\.[^"']+)["'];?""", re.MULTILINE)
# Libraries are one line each, with exports at its end.
_BEGIN = r"(?:^|(?<=[;}]))"
_EXPORT = re.compile(_BEGIN + r"""export\s*\{([^}]*)\}(?:\s*from\s*["'](\.[^"']+)["'])?;?""", re.MULTILINE)
_DECLARED = re.compile(r"^export\s+(default\s+)?((?:async\s+)?function\*?|const|class)\s+(\w+)", re.MULTILINE)
_UNNAMED = re.compile(_BEGIN + r"export\s+default\b", re.MULTILINE)
_LATER = re.compile(r"""\bimport\(["'](\.[^"']+)["']\)""")
_LEFT = re.compile(_BEGIN + r"(?:import\s*[\w{*\"']|export\b).*", re.MULTILINE)


class _Module:
    """A module as the body of a function."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.imports: list[str] = []
        self.later: list[str] = []
        self._exports: list[str] = []
        for form, change in (
            (_IMPORT, self._import),
            (_EXPORT, self._export),
            (_DECLARED, self._declaration),
            (_UNNAMED, self._unnamed),
            (_LATER, self._import_later),
        ):
            text = form.sub(change, text)
        if left := _LEFT.search(text):
            raise ValueError(f"{path}: found {left[0]!r}; expected one of the forms that {__name__} knows")
        self._body = text.replace("import.meta.url", f"addressOf({_quoted(path)})")

    def _at(self, relative: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(self.path), relative))

    def _needs(self, relative: str) -> str:
        path = self._at(relative)
        self.imports.append(path)
        return f"modules[{_quoted(path)}]"

    def _import(self, found: re.Match[str]) -> str:
        default, names, path = found.groups()
        wanted = f"default: {default}" if default else ", ".join(": ".join(one.split(" as ")) for one in _listed(names))
        return f"const {{ {wanted} }} = {self._needs(path)};"

    def _export(self, found: re.Match[str]) -> str:
        names, path = found.groups()
        source = f"{self._needs(path)}." if path else ""
        for one in _listed(names):
            here, _, outside = one.partition(" as ")
            self._exports.append(f"{outside or here}: {source}{here}")
        return ""

    def _declaration(self, found: re.Match[str]) -> str:
        default, kind, name = found.groups()
        self._exports.append(f"default: {name}" if default else name)
        return f"{kind} {name}"

    def _unnamed(self, _: re.Match[str]) -> str:
        self._exports.append("default: unnamed")
        return "const unnamed ="

    def _import_later(self, found: re.Match[str]) -> str:
        path = self._at(found[1])
        self.later.append(path)
        return f"later({_quoted(path)})"

    def joined(self) -> str:
        """The module in a file of several."""
        exports = ", ".join(self._exports)
        return f"modules[{_quoted(self.path)}] = (() => {{\n{self._body}\nreturn {{ {exports} }};\n}})();\n"


# Other modules are asked for when one of them is needed first.
_HEAD_OF_FIRST = f"""\
export const modules = {{}};
const addressOf = (path) => new URL(path, import.meta.url).href;
const later = async (path) => modules[path] ?? (await import("./{OTHERS}"), modules[path]);
"""
_HEAD_OF_OTHERS = f"""\
import {{ modules }} from "./{FIRST}";
const addressOf = (path) => new URL(path, import.meta.url).href;
"""


def joined_modules(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the two files, by their names, of modules by their paths."""
    parsed = {path: _Module(path, text) for path, text in texts.items()}
    first = _in_order(parsed, [_ENTRY])
    opened_later = [path for module in parsed.values() for path in module.later]
    others = [path for path in _in_order(parsed, opened_later) if path not in first]
    return {
        FIRST: _HEAD_OF_FIRST + "".join(parsed[path].joined() for path in first),
        OTHERS: _HEAD_OF_OTHERS + "".join(parsed[path].joined() for path in others),
    }


def _in_order(modules: Mapping[str, _Module], entries: Iterable[str]) -> list[str]:
    """Return the paths of modules and of all that they import, each after what it imports."""
    done: dict[str, bool] = {}

    def add(path: str) -> None:
        if path in done:
            if not done[path]:
                raise ValueError(f"{path} imports itself, by way of others")
            return
        done[path] = False
        for needed in modules[path].imports:
            add(needed)
        # Written anew, so that it stands behind what it needs.
        del done[path]
        done[path] = True

    for entry in entries:
        add(entry)
    return list(done)


def _listed(names: str) -> list[str]:
    return [" ".join(name.split()) for name in names.split(",") if name.strip()]


def _quoted(path: str) -> str:
    return json.dumps(path)
