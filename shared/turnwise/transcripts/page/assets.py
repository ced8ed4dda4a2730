"""The page's own style and script, and the policy that lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


STYLE = _read("page.css")
SCRIPT = _read("page.js")
POLICY = (
    f"default-src 'none'; style-src {_source(STYLE)}; script-src {_source(SCRIPT)}; base-uri 'none'; form-action 'none'"
)
