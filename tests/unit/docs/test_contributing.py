"""The pages for contributors name files and commands that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()


def test_every_file_and_folder_it_names_exists() -> None:
    named = set(
        re.findall(r"`((?:shared|services|tests|docs|bench|deploy|helm)(?:/[\w.-]+)*|[\w.-]+\.(?:md|toml|yml))`", PAGE)
    )
    roots = (ROOT, ROOT / "shared" / "turnwise")

    assert len(named) > 20
    assert [name for name in sorted(named) if not any((root / name).exists() for root in roots)] == []


def test_the_way_of_a_message_names_files_that_exist() -> None:
    steps = PAGE.split("## One message")[1].split("## What a change")[0]
    named = re.findall(r"`((?:[\w-]+/)+[\w-]+\.py)`", steps)

    assert len(named) > 13
    assert [name for name in named if not ((ROOT / name).exists() or (ROOT / "shared/turnwise" / name).exists())] == []


def test_every_make_target_it_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"make ([a-z]+)\b", PAGE)) - {"sure"} <= targets


@pytest.mark.parametrize("where", ["noxfile.py", ".github/workflows/check.yml"])
def test_every_declared_python_is_tested(where: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [line.rpartition(" ")[2] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)]

    if where == "noxfile.py":
        assert "nox.project.python_versions" in (ROOT / where).read_text()
    else:
        jobs = yaml.safe_load((ROOT / where).read_text())["jobs"]
        assert jobs["pythons"]["strategy"]["matrix"]["python"] == declared


def test_every_folder_of_tests_is_run() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    tests = {file.relative_to(ROOT).parts for file in ROOT.glob("tests/**/test_*.py")}

    assert set(options["testpaths"]) == {"/".join(parts[:2]) for parts in tests}


def test_every_extra_has_something_to_import() -> None:
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    listed = set(re.findall(r'^    "(\w*)": \[', (ROOT / "noxfile.py").read_text(), re.MULTILINE))

    assert extras - {"dev", "docs", "bench"} == listed - {""}


def test_pre_commit_runs_what_make_check_runs() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    recipe = (ROOT / "Makefile").read_text().split("check: $(READY)")[1].split("\n\n")[0]

    commands = {line.split("/")[1].split(" -")[0].strip().removesuffix(" .") for line in recipe.splitlines()[1:]}
    assert {hook["entry"].removeprefix(".venv/bin/").split(" -")[0] for hook in hooks} == commands
