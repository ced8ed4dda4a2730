"""The console's files, as the package has them: read once for each process."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from turnwise_gateway.console.modules import joined_modules

_ROOT = Path(__file__).parent / "static"
_PAGE = "index.html"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    "": "text/plain; charset=utf-8",  # licences
}
# In the page, the places of the script that begins, and of the address under which all other files are.
_START = "{start}"
_ASSETS = "{assets}"
_AUTHENTICATION = "{authentication}"
# It is part of the page: a request of its own would keep the first requests for data waiting.
_STARTING = "start.js"
# Scripts that are no modules.
_CLASSIC = {"api_docs.js", "vendor/uPlot.iife.min.js", "vendor/swagger-ui-bundle.js"}
# All styles are one file: these first, as the others build on them.
_STYLES = "console.css"
_BASIC_STYLES = [f"styles/{name}.css" for name in ("tokens", "base", "shell", "parts", "lists")]


@dataclass(frozen=True)
class ConsoleFile:
    """A file as it is sent."""

    body: bytes
    media_type: str

    @cached_property
    def zipped(self) -> bytes:
        """The body compressed."""
        return gzip.compress(self.body, mtime=0)

    @cached_property
    def digest(self) -> str:
        """A short hash of the body."""
        return hashlib.sha256(self.body).hexdigest()[:16]


@dataclass(frozen=True)
class ConsoleFiles:
    """The page, and all other files by their paths; `digest` is one for all of these. `script` is the source expression
    by which a Content-Security-Policy allows the script in the page.
    """

    page: ConsoleFile
    others: Mapping[str, ConsoleFile]
    digest: str
    script: str

    def page_for(self, root: str, authentication: str) -> ConsoleFile:
        """The page with the addresses of its files, below the path `root` of a proxy if there is one, and with the
        server's kind of authentication: where it is `none`, the page may ask for runs at once.
        """
        body = self.page.body.replace(_ASSETS.encode(), self.assets(root).encode())
        return ConsoleFile(body.replace(_AUTHENTICATION.encode(), authentication.encode()), self.page.media_type)

    def assets(self, root: str) -> str:
        """The address of all files, for a page at the root."""
        return f"{root}/console/{self.digest}" if root else f"console/{self.digest}"


@cache
def console_files() -> ConsoleFiles:
    """Read the package's files."""
    found = {
        path.relative_to(_ROOT).as_posix(): ConsoleFile(path.read_bytes(), _TYPES[path.suffix])
        for path in sorted(_ROOT.rglob("*"))
        if path.is_file()
    }
    styles = {path: found.pop(path) for path in list(found) if path.startswith("styles/")}
    found[_STYLES] = _joined(styles)
    start, page = found.pop(_STARTING), found.pop(_PAGE)
    scripts = {path: file.body.decode() for path, file in found.items() if _is_module(path)}
    for name, text in joined_modules(scripts).items():
        found[name] = ConsoleFile(text.encode(), _TYPES[".js"])
    page = ConsoleFile(page.body.replace(_START.encode(), start.body), page.media_type)
    digest = hashlib.sha256("\n".join(f"{path} {file.digest}" for path, file in sorted(found.items())).encode())
    script = f"'sha256-{base64.b64encode(hashlib.sha256(start.body).digest()).decode()}'"
    return ConsoleFiles(page, found, digest.hexdigest()[:16], script)


def _joined(styles: Mapping[str, ConsoleFile]) -> ConsoleFile:
    """Return all styles as one file."""
    paths = [*_BASIC_STYLES, *sorted(set(styles) - set(_BASIC_STYLES))]
    return ConsoleFile(b"\n".join(styles[path].body for path in paths), _TYPES[".css"])


def _is_module(path: str) -> bool:
    return path.endswith((".js", ".mjs")) and path not in _CLASSIC
