"""Links to files outside of docs/ become links into the repository, where the pages are read as files, too."""

from __future__ import annotations

import re
from posixpath import dirname, join, normpath
from typing import Any

_LINK = re.compile(r"\]\((?!\w+:|#|/)([^)\s]+)\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Called by mkdocs with the source of each page."""

    def outside(match: re.Match[str]) -> str:
        target = normpath(join("docs", dirname(page.file.src_uri), match[1]))
        if target == "docs" or target.startswith("docs/"):
            return match[0]
        return f"]({config.repo_url.rstrip('/')}/blob/main/{target})"

    return _LINK.sub(outside, markdown)
