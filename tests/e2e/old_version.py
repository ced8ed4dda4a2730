"""An earlier version of Turnwise, taken from the history of this repository, in a virtual environment of its own."""

from __future__ import annotations

import io
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent.parent
# Paths of the old tree. The programs before the commit that added this migration meet those of this tree, and `SCHEMA`
# is what they make. Set both to later ones when those programs are no longer to be upgraded from.
_FIRST_MIGRATION_AFTER = "shared/turnwise/runs/migrations/versions/0007_audit_age.py"
SCHEMA = "0006"
SCHEMA_MODULE = "turnwise.runs.schema"
_SCHEMA_FILE = f"shared/{SCHEMA_MODULE.replace('.', '/')}.py"
_PACKAGES = ("shared", "services/gateway", "services/coordinator", "services/responders")


def old_python(folder: Path) -> str:
    """The interpreter of an environment made in `folder`: everything that is installed here, but the old Turnwise.

    Needs no network. Skips the test where this tree has no history, or one that does not go back so far.
    """
    added = _git("log", "--diff-filter=A", "--format=%H", "-1", "--", _FIRST_MIGRATION_AFTER).decode().strip()
    schema = _git("show", f"{added}^:{_SCHEMA_FILE}").decode() if added else ""
    if f'SCHEMA_VERSION = "{SCHEMA}"' not in schema:
        pytest.skip(
            f"no old version to upgrade from: the history of this tree has no commit of schema {SCHEMA} before the one "
            f"that added {_FIRST_MIGRATION_AFTER}; take a clone with its whole history (git fetch --unshallow)"
        )
    source = folder / "source"
    with tarfile.open(fileobj=io.BytesIO(_git("archive", f"{added}^", "shared", "services"))) as archive:
        archive.extractall(source, filter="data")
    environment = folder / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    # Paths of a .pth file are searched in their order, and .pth files in them are not read: so neither this tree nor an
    # installed Turnwise comes before the old one.
    paths = [*(str(source / package) for package in _PACKAGES), sysconfig.get_path("purelib")]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (environment / "lib" / version / "site-packages" / "old.pth").write_text("\n".join(paths) + "\n")
    return str(environment / "bin" / "python")


def _git(*arguments: str) -> bytes:
    """What a git command prints; nothing if it fails, or there is no git."""
    try:
        return subprocess.run(
            ["git", "-C", str(_ROOT), *arguments], capture_output=True, check=False, timeout=60
        ).stdout
    except FileNotFoundError:
        return b""
