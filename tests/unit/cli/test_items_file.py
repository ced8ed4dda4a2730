"""The file of `turnwise batch`: checked as a whole before anything is sent."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from turnwise.cli.batch.items_file import checked
from turnwise.errors import InvalidRequestError


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "items.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_lines_are_strings_or_objects_and_empty_ones_may_end_the_file(tmp_path: Path) -> None:
    file = checked(written(tmp_path, '"one"\n{"message": "two", "id": "x", "tags": ["a"]}\r\n\n\n'))

    assert file.count == 2
    assert list(file.parts(0)) == [[{"message": "one"}, {"message": "two", "id": "x", "tags": ["a"]}]]
    assert list(file.parts(1)) == [[{"message": "two", "id": "x", "tags": ["a"]}]]


def test_parts_have_what_a_gateway_takes(tmp_path: Path) -> None:
    many = checked(written(tmp_path, '"a"\n' * 2_500))
    assert [len(part) for part in many.parts(100)] == [1_000, 1_000, 400]

    long = checked(written(tmp_path, (json.dumps("x" * 200_000) + "\n") * 5))
    assert [len(part) for part in long.parts(0)] == [2, 2, 1]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('"a"\n{"message": }\n', r"items.jsonl, line 2: it is not JSON \(.*\); nothing was submitted"),
        ('"a"\n\n"b"\n', r"line 2: it is empty"),
        ('{"text": "a"}\n', r"line 1: it has 'text'; an item may have message, id"),
        ('{"id": "a"}\n', r"line 1: it has no message"),
        ('"a"\n"  "\n', r"line 2: it has no message"),
        ("[1]\n", r'line 1: expected \{"message": "\.\.\."\} or a JSON string'),
        ('{"message": "a", "id": 1}\n', r"line 1: id: Input should be a valid string; nothing was submitted"),
        ('"a"\n{"message": "b", "priority": 999}\n', r"line 2: priority: Input should be less than or equal to 100"),
        (
            '{"message": "a", "limits": {"max_cost": 0.5}}\n',
            r"line 1: limits.max_cost: expected US dollars as a decimal",
        ),
        ('{"message": "a", "limits": {"cost": "0.5"}}\n', r"line 1: limits.cost: there is no such field"),
        ('{"message": "a", "metadata": {"b": NaN}}\n', r"line 1: metadata: NaN and infinite numbers are not JSON"),
        ('{"message": "a", "id": "x"}\n"b"\n{"message": "c", "id": "x"}\n', r"line 3: the id 'x' is that of line 1"),
        (b'"\xff"\n', r"line 1: it is not JSON \(bytes that are no UTF-8\)"),
        ("[" * 100_000 + "\n", r"line 1: it is not JSON"),
        ("", r"has no items"),
        ("\n\n", r"has no items"),
    ],
)
def test_a_line_that_is_no_item_is_named(tmp_path: Path, content: str | bytes, told: str) -> None:
    with pytest.raises(InvalidRequestError, match=told):
        checked(written(tmp_path, content))


def test_an_item_that_waits_at_its_limit_is_none_for_a_batch_with_a_budget(tmp_path: Path) -> None:
    path = written(tmp_path, '"a"\n{"message": "b", "limits": {"on_limit": "wait"}}\n')

    assert checked(path).count == 2
    with pytest.raises(InvalidRequestError, match=r"line 2: limits.on_limit is wait, .*; nothing was submitted"):
        checked(path, budgeted=True)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match=r"missing.jsonl cannot be read: No such file"):
        checked(tmp_path / "missing.jsonl")


def test_a_file_in_a_folder_that_may_not_be_entered_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patches:
        patches.setattr(Path, "stat", refuse)
        with pytest.raises(InvalidRequestError, match=r"items.jsonl cannot be read: Permission denied"):
            checked(tmp_path / "items.jsonl")


def test_the_digest_is_of_the_items(tmp_path: Path) -> None:
    first = checked(written(tmp_path, '"a"\n"b"\n')).digest
    assert checked(written(tmp_path, '"a"\n"b"')).digest == first
    assert checked(written(tmp_path, '"b"\n"a"\n')).digest != first
