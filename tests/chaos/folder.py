"""The folder in which a chaos run keeps data and logs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def run_folder(*, keep: bool = False) -> Iterator[Path]:
    """A folder that other users may enter, as PostgreSQL may run as one; removed at the end unless to `keep`."""
    folder = Path(tempfile.mkdtemp(prefix="turnwise-chaos-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        if keep:
            print(f"logs and data: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
