"""The counting conversation of `bench.tool_loop` in processes that keep account of their parts.

The account of each process is written into the folder that PROFILE_FOLDER names when the process ends.
"""

from __future__ import annotations

import os
from pathlib import Path

from bench.account import install
from bench.tool_loop import app

__all__ = ["FOLDER", "app"]

FOLDER = "PROFILE_FOLDER"

if folder := os.environ.get(FOLDER):
    install(Path(folder))
