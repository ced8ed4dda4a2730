"""Files that stand for the world outside: what the tools did, what the model's provider bills.

Lines are appended in one write each, so that any number of processes may write, and a kill leaves whole lines.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

# Names of environment variables with the paths.
TOOL_LOG = "CHAOS_TOOL_LOG"
BILL = "CHAOS_BILL"


def append(path: str, line: dict[str, Any]) -> None:
    """Add a line; once this returns, it outlives the process."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, json.dumps(line).encode() + b"\n")
    finally:
        os.close(file)


def read(path: Path) -> list[dict[str, Any]]:
    """All lines so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
