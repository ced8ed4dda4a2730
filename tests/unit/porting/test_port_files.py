"""Files: which are found, how they are read and replaced, and which are left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from turnwise.errors import PortingError
from turnwise.porting.codemod import source
from turnwise.porting.codemod.files import find_files
from turnwise.porting.codemod.porting import port_file
from turnwise.porting.codemod.report import Level

PROGRAM = "import langroid as lr\n"
PORTED = "import turnwise.langroid as lr\n"


def write(path: Path, content: str | bytes = PROGRAM) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# --- finding ----------------------------------------------------------------------------------------------------------


def test_a_folder_gives_its_programs_notebooks_and_requirements_at_any_depth(tmp_path: Path) -> None:
    wanted = ["a.py", "deep/er/b.py", "n.ipynb", "pyproject.toml", "requirements-dev.txt"]
    for name in [*wanted, "notes.txt", "c.pyc", "d.pyi"]:
        write(tmp_path / name)

    assert sorted(str(path.relative_to(tmp_path)) for path in find_files([tmp_path])) == wanted


def test_folders_of_others_are_skipped(tmp_path: Path) -> None:
    for name in (".git/a.py", "node_modules/a.py", "env/lib/a.py", "lib/site-packages/a.py", "__pycache__/a.py"):
        write(tmp_path / name)
    write(tmp_path / "env" / "pyvenv.cfg", "")
    (tmp_path / "loop").symlink_to(tmp_path)

    assert find_files([tmp_path]) == []


def test_a_file_that_is_named_counts_once_whatever_its_ending(tmp_path: Path) -> None:
    script = write(tmp_path / ".hidden" / "script")

    assert find_files([script, script, tmp_path]) == [script]


def test_a_missing_path_is_refused_before_anything_changes(tmp_path: Path) -> None:
    with pytest.raises(PortingError, match="does not exist; expected a Python file or a folder"):
        find_files([write(tmp_path / "a.py"), tmp_path / "b.py"])


# --- reading and replacing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"import langroid as lr\r\nx = 1\r\n",
        b"\xef\xbb\xbfimport langroid as lr\n",
        "# -*- coding: latin-1 -*-\nimport langroid as lr\nx = 'é'\n".encode("latin-1"),
        b"#!/usr/bin/env python\nimport langroid as lr",
        b"x = 1\n\x0c\nimport langroid as lr\n\n\n\n",
        b"import langroid as lr\r\nx = '''a\nb'''\r\n",
        "import langroid as lr  # 💬\nx = 'ü'\n".encode(),
        b"import langroid as lr\rx = 1",
    ],
    ids=["crlf", "bom", "latin-1", "no-end", "form-feed", "mixed-ends", "wide", "cr"],
)
def test_every_byte_but_those_of_the_import_stays(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / "a.py", content)

    report = port_file(path)

    assert report.changed
    assert path.read_bytes() == content.replace(b"langroid", b"turnwise.langroid")


def test_permissions_stay(tmp_path: Path) -> None:
    path = write(tmp_path / "a.py")
    path.chmod(0o751)

    port_file(path)

    assert path.read_text() == PORTED
    assert path.stat().st_mode & 0o777 == 0o751


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target = write(tmp_path / "real" / "a.py")
    link = tmp_path / "a.py"
    link.symlink_to(target)

    port_file(link)

    assert link.is_symlink()
    assert target.read_text() == PORTED


def test_nothing_is_written_where_nothing_changes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.py", PORTED)
    before = path.stat()

    assert not port_file(path).changed
    assert path.stat().st_ino == before.st_ino


def test_nothing_is_written_without_leave(tmp_path: Path) -> None:
    path = write(tmp_path / "a.py")

    assert port_file(path, write=False).changed
    assert path.read_text() == PROGRAM


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"import langroid\nprint 'x'\n", "line 2 cannot be parsed"),
        (b"import langroid\nx = '\xff'\n", "cannot be decoded"),
        (b"# coding: klingon\nimport langroid\n", "cannot be decoded"),
        (b"import langroid\nreturn = 1\n", "cannot be parsed"),
        (b"import langroid\rx = 1\r", "cannot be printed as it was parsed"),
    ],
)
def test_a_file_that_is_no_program_is_left_and_told(tmp_path: Path, content: bytes, told: str) -> None:
    path = write(tmp_path / "a.py", content)

    (finding,) = port_file(path).findings

    assert finding.level is Level.TODO
    assert told in finding.said
    assert path.read_bytes() == content


def test_a_read_only_file_is_left_and_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.py")
    path.chmod(0o444)

    (finding,) = port_file(path).findings

    assert finding.said == "left as it is: is read-only"
    assert path.read_text() == PROGRAM


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)

    (finding,) = port_file(tmp_path / "a.py").findings

    assert finding.said == "left as it is: cannot be read: Permission denied"


def test_a_file_in_a_folder_that_may_not_be_entered_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)

    (finding,) = port_file(tmp_path / "a.py").findings

    assert finding.said == "left as it is: cannot be read: Permission denied"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")

    (finding,) = port_file(tmp_path / "pipe.py").findings

    assert finding.said == "left as it is: is no regular file"


def test_a_failure_in_the_middle_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.py")

    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises(PortingError, match="cannot be written: No space left on device"):
        source.replace(path, b"new")
    assert path.read_text() == PROGRAM
    assert list(tmp_path.iterdir()) == [path]


# --- other files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("requirements.txt", "fire\nlangroid[hf-embeddings]>=0.50  # agents\n", 2),
        ("requirements.txt", "langroid\n", 1),
        ("pyproject.toml", '[project]\ndependencies = ["langroid", "fire"]\n', 2),
        ("pyproject.toml", '[tool.poetry.dependencies]\nlangroid = "^0.5"\n', 2),
        ("Pipfile", '[packages]\nlangroid = "*"\n', 2),
        ("environment.yml", "dependencies:\n  - pip:\n    - langroid==0.1\n", 3),
    ],
)
def test_a_requirement_is_told_with_its_line_and_stays(tmp_path: Path, name: str, content: str, line: int) -> None:
    path = write(tmp_path / name, content)

    (finding,) = port_file(path).findings

    assert (finding.line, finding.said) == (line, "requires langroid: require turnwise instead")
    assert path.read_text() == content


@pytest.mark.parametrize("content", ["langroid-tools\n", "# langroid\n", "mylangroid==1\n", 'name = "x"\n'])
def test_another_requirement_is_none(tmp_path: Path, content: str) -> None:
    assert port_file(write(tmp_path / "requirements.txt", content)).findings == ()


def test_a_notebook_is_left_and_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ipynb", '{"cells": [{"cell_type": "code", "source": ["import langroid as lr"]}]}')
    before = path.read_bytes()

    (finding,) = port_file(path).findings

    assert finding.said.startswith("a notebook is left as it is")
    assert path.read_bytes() == before
    assert port_file(write(tmp_path / "b.ipynb", '{"cells": []}')).findings == ()
