"""axe-core in a page: what a person with a screen reader, little sight or no mouse stumbles over."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

_FILE = Path(__file__).parent / "vendor/axe.min.js"
_GRAVE = ("serious", "critical")


@cache
def _script() -> str:
    return _FILE.read_text()


def loaded(page: Page) -> None:
    """Wait until the page shows what it is about."""
    # A change behind the `#` loads nothing: for a moment the page before is still there, and it is not loading.
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done))))")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".loading, .stale")).to_have_count(0)


def grave_faults(page: Page, *rules: str) -> list[str]:
    """Faults that axe finds serious or critical in the page now, each with its place; by these rules, or all."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_script())
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": rules}
    found: dict[str, Any] = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{page.url}: {fault['id']} ({fault['impact']}) at {node['target']}: {node['failureSummary']}"
        for fault in found["violations"]
        for node in fault["nodes"]
        if node["impact"] in _GRAVE
    ]
