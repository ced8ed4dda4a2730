"""The TypeScript client: its types are those of the API, it passes its checker, and works with a real gateway."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import typescript_client
from tests.support.keyed_desk import KEY, server
from tests.support.services import require

from turnwise.cli.embedded import EmbeddedServer

__all__ = ["server"]


@pytest.fixture(scope="module", autouse=True)
def packages() -> None:
    """The generator and the checker, installed once."""
    require(typescript_client.missing() is None, str(typescript_client.missing()))
    typescript_client.install()


def test_the_types_are_those_of_the_api(tmp_path: Path) -> None:
    made = tmp_path / "api.ts"

    typescript_client.generate(made)

    same = made.read_text() == typescript_client.TYPES.read_text()
    assert same, "the API has changed, or the generator: run `make client`, and commit clients/typescript/src/api.ts"


def test_the_client_is_sound_and_works(server: EmbeddedServer) -> None:
    assert typescript_client.tried(server.url, KEY) == {"pass": 10, "fail": 0, "skipped": 0}


def test_the_lock_names_no_registry() -> None:
    lock = (typescript_client.FOLDER / "package-lock.json").read_text()

    assert '"resolved"' not in lock
    assert "registry" not in lock
    assert "omit-lockfile-registry-resolved=true" in (typescript_client.FOLDER / ".npmrc").read_text()
