"""The rooms of the library: folders, the architecture page and the import contract name the same ones."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = ROOT / "shared/turnwise"
SERVICES = {path.name: path for path in ROOT.glob("services/*/turnwise_*")}
# Generated: its folders are those of another library.
CLOSED = {LIBRARY / "langroid"}


def rooms() -> dict[str, Path]:
    """Every folder and every loose module at the top of the library, and the services."""
    found = {path.name: path for path in LIBRARY.iterdir() if path.is_dir() and path.name != "__pycache__"}
    loose = {path.stem: path for path in LIBRARY.glob("*.py") if path.stem != "__init__"}
    return found | loose | SERVICES


def folders(room: Path) -> set[str]:
    if not room.is_dir() or room in CLOSED:
        return set()
    return {path.name for path in room.iterdir() if path.is_dir() and path.name != "__pycache__"}


def described() -> dict[str, set[str]]:
    """The rooms that the architecture page lists, with their folders."""
    page = (ROOT / "docs/architecture.md").read_text()
    rows = re.findall(r"^\| \d+ \| `(\w+)` \|.*\|(.*)\|$", page, flags=re.MULTILINE)
    return {room: set(re.findall(r"`(\w+)`", listed)) for room, listed in rows}


def layers() -> list[set[str]]:
    """The floors of the import contract, from the top."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (floors,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return [{room.strip().removeprefix("turnwise.") for room in floor.split("|")} for floor in floors]


def test_the_architecture_page_names_every_room_and_no_other() -> None:
    missing, unknown = rooms().keys() - described().keys(), described().keys() - rooms().keys()
    assert not missing, f"docs/architecture.md does not name {sorted(missing)}"
    assert not unknown, f"docs/architecture.md names {sorted(unknown)}, which do not exist"


def test_the_architecture_page_names_the_folders_of_each_room() -> None:
    found = {name: folders(path) for name, path in rooms().items()}
    told = described()
    assert {name: told[name] for name in found if name in told} == found


def test_the_import_contract_has_a_floor_for_every_room() -> None:
    assert set().union(*layers()) == rooms().keys()


def test_the_page_lists_the_floors_in_the_order_of_the_contract() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    floors: dict[int, set[str]] = {}
    for floor, room in re.findall(r"^\| (\d+) \| `(\w+)` \|", page, flags=re.MULTILINE):
        floors.setdefault(int(floor), set()).add(room)
    assert [floors[number] for number in sorted(floors, reverse=True)] == layers()


def test_type_checking_imports_count_and_no_contract_looks_at_direct_imports_only() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert settings["exclude_type_checking_imports"] is False
    assert not [contract["name"] for contract in settings["contracts"] if contract.get("allow_indirect_imports")]
