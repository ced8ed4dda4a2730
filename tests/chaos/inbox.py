"""Decides what becomes of a parked call: whether it happened is looked up in the tool's own log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.chaos import ledgers, words

from turnwise.client import Client

Json = dict[str, Any]


class Resolver:
    """A careful operator's script that works on the inbox."""

    def __init__(self, tool_log: Path) -> None:
        self._tool_log = tool_log

    def __call__(self, client: Client, item: Json, case: str) -> None:
        """Resolve a parked ask: it happened if the tool's log has its key; if not, it is to be done now."""
        tool, key = item["tool"], item["idempotency_key"]
        for line in ledgers.read(self._tool_log):
            if tool is not None and (line["tool"], line["key"]) == (tool, key):
                client.resolve(item["id"], "happened", words.result_of(tool, line["ref"]))
                return
        client.resolve(item["id"], "again")
