"""The TypeScript client's generated types: `python -m tests.support.typescript_client` writes them anew."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path
from typing import Any

from filelock import FileLock

from turnwise import App
from turnwise.bus.in_process import InProcessBus
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise_gateway.api import create_api

FOLDER = Path(__file__).parents[2] / "clients" / "typescript"
TYPES = FOLDER / "src" / "api.ts"
_PACKAGES = FOLDER / "package-lock.json"
_LOCK = Path(tempfile.gettempdir()) / f"turnwise-typescript-{zlib.crc32(str(FOLDER).encode()):08x}.lock"
# The longest that a package or the generator may take.
_SECONDS = 240


def document() -> dict[str, Any]:
    """Return the OpenAPI document of the gateway."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/runs.db")
        try:
            return create_api(Store(database, lease_seconds=5.0), InProcessBus(), App("any"), load_settings()).openapi()
        finally:
            database.close()


def missing() -> str | None:
    """Return why nothing can be generated here; None if it can."""
    absent = [program for program in ("node", "npm") if shutil.which(program) is None]
    return f"{' and '.join(absent)} cannot be found; install Node.js 20 or later" if absent else None


def install() -> None:
    """Install the packages that the lock names, unless they are there; one process at a time."""
    with FileLock(_LOCK):
        _install()


def _install() -> None:
    installed = FOLDER / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < _PACKAGES.stat().st_mtime:
        run("npm", "ci", "--ignore-scripts", "--prefer-offline")


def build() -> None:
    """Check the client and its tests, and compile them, unless that was done; one process at a time."""
    with FileLock(_LOCK):
        _install()
        done = FOLDER / "dist" / ".built"
        sources = [
            FOLDER / "package-lock.json",
            FOLDER / "tsconfig.json",
            *FOLDER.glob("src/*"),
            *FOLDER.glob("tests/*"),
        ]
        if not done.exists() or done.stat().st_mtime < max(file.stat().st_mtime for file in sources):
            run("npm", "run", "--silent", "build")
            done.touch()


def tried(url: str, key: str) -> dict[str, int]:
    """Try the client with the gateway at `url`, and return how many of its tests passed, failed and were skipped."""
    build()
    said = run("node", "--test", "dist/tests/", TURNWISE_URL=url, TURNWISE_API_KEY=key)
    return {name: int(count) for name, count in re.findall(r"^\S+ (pass|fail|skipped) (\d+)$", said, re.MULTILINE)}


def written() -> int:
    """Return how many tests the client has."""
    return sum(len(re.findall(r"^test\(", file.read_text(), re.MULTILINE)) for file in FOLDER.glob("tests/*.test.ts"))


def run(*command: str, **environment: str) -> str:
    """Run a command in the client's folder and return what it printed; raises `RuntimeError` with that if it fails."""
    env = {**os.environ, "NO_COLOR": "1", **environment}
    ended = subprocess.run(
        command, cwd=FOLDER, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_SECONDS
    )
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stdout}")
    return ended.stdout


def generate(target: Path) -> None:
    """Write the types of the API to `target`."""
    with tempfile.TemporaryDirectory() as folder:
        described = Path(folder) / "openapi.json"
        described.write_text(json.dumps(document()))
        run(
            "node_modules/.bin/openapi-typescript",
            str(described),
            "--output",
            str(target),
            "--alphabetize",
            "--root-types",
            "--root-types-no-schema-prefix",
            # A field of a body that has a default may be left out.
            "--default-non-nullable=false",
        )


if __name__ == "__main__":
    if (why := missing()) is not None:
        raise SystemExit(why)
    install()
    generate(TYPES)
    print(f"Wrote {TYPES.relative_to(FOLDER.parents[1])}.")
