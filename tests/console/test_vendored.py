"""The libraries that the console and its tests bring along: known versions, licences, and files as published."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import turnwise_gateway.console

FOLDERS = [Path(turnwise_gateway.console.__file__).parent / "static/vendor", Path(__file__).parent / "vendor"]
LISTED: list[tuple[Path, dict[str, Any]]] = [
    (folder, entry) for folder in FOLDERS for entry in json.loads((folder / "vendor.json").read_text())
]
LICENCES = {
    "MIT": "Permission is hereby granted",
    "Apache-2.0": "Apache License",
    "MPL-2.0": "Mozilla Public License, version 2.0",
}
of_each_file = pytest.mark.parametrize(
    ("folder", "entry"), LISTED, ids=[f"{folder.parent.name}-{entry['file']}" for folder, entry in LISTED]
)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@of_each_file
def test_a_vendored_file_is_the_published_one_but_for_the_listed_changes(folder: Path, entry: dict[str, Any]) -> None:
    here = (folder / entry["file"]).read_bytes()
    published = here.decode()
    for change in entry.get("changes", []):
        if change["here"]:
            assert published.count(change["here"]) == 1
            published = published.replace(change["here"], change["published"])
        else:  # a line was taken off the end
            published = published.removesuffix("\n") + change["published"] + "\n"

    assert sha256(here) == entry["sha256"]
    assert sha256(published.encode()) == entry["published_sha256"]


@of_each_file
def test_a_vendored_file_has_a_version_and_its_licence(folder: Path, entry: dict[str, Any]) -> None:
    assert entry["version"] and entry["package"]
    assert LICENCES[entry["licence"]] in (folder / entry["licence_file"]).read_text()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parent.name)
def test_nothing_else_is_vendored(folder: Path) -> None:
    entries = [entry for there, entry in LISTED if there == folder]
    listed = {name for entry in entries for name in (entry["file"], entry["licence_file"])}

    assert {path.name for path in folder.iterdir()} == {*listed, "vendor.json"}
