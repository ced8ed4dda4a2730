"""The file of a command's output: checked first, and there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from turnwise.cli.output_file import check_output, written
from turnwise.errors import ConfigurationError


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    output = tmp_path / "out.txt"

    with pytest.raises(RuntimeError), written(output) as file:
        file.write("half")
        raise RuntimeError("it broke off")
    assert list(tmp_path.iterdir()) == []

    with written(output) as file:
        file.write("whole\n")
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert output.read_text() == "whole\n"


def test_a_link_stays_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "behind.txt")
    with written(tmp_path / "link") as file:
        file.write("here")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "behind.txt").read_text() == "here"

    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with written(tmp_path / "pipe") as file:
        file.write("through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_a_pipe_without_a_name_of_its_own_is_written_to() -> None:
    reader, writer = os.pipe()
    with written(Path(f"/dev/fd/{writer}")) as file:
        file.write("through")
    os.close(writer)
    assert os.read(reader, 100) == b"through"
    os.close(reader)


@pytest.mark.parametrize(
    ("output", "told"),
    [("none/out.txt", r"there is no folder '.*none'; make it"), ("here", r"a folder; name a file in it")],
)
def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, output: str, told: str) -> None:
    (tmp_path / "here").mkdir()

    with pytest.raises(ConfigurationError, match=told):
        check_output(tmp_path / output)


def test_a_full_disk_is_told() -> None:
    with (
        pytest.raises(ConfigurationError, match="cannot be written: No space left"),
        written(Path("/dev/full")) as file,
    ):
        file.write("much")
