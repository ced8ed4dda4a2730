"""`turnwise port` at the terminal: its text, its diff, its JSON, and its exit codes."""

from __future__ import annotations

import json
import sys

import pytest
import typer
from tests.support.cli import Terminal, terminal

from turnwise.cli.commands.port import port
from turnwise.cli.group import NEEDS_A_HAND

__all__ = ["terminal"]

PROGRAM = "import langroid as lr\n\nprint(lr.ChatAgent)\n"
PORTED = PROGRAM.replace("langroid", "turnwise.langroid")
NATIVE = PROGRAM.replace("langroid", "turnwise")
ABSENT = "from langroid.agent.special import DocChatAgent\n"


@pytest.fixture
def folder(terminal: Terminal) -> Terminal:
    """A terminal in a folder with one program."""
    (terminal.folder / "chat.py").write_text(PROGRAM)
    return terminal


def test_a_program_is_rewritten_and_its_changes_are_printed(folder: Terminal) -> None:
    printed = folder.run("port", "chat.py").splitlines()

    assert (folder.folder / "chat.py").read_text() == PORTED
    assert printed == [
        "chat.py:1: import langroid as lr → import turnwise.langroid as lr",
        "1 file, 1 changed; nothing left to do; 0 notes.",
    ]


def test_native_names_come_from_turnwise_itself(folder: Terminal) -> None:
    folder.run("port", "--native", "chat.py")

    assert (folder.folder / "chat.py").read_text() == NATIVE


def test_a_second_run_changes_nothing(folder: Terminal) -> None:
    folder.run("port", ".")

    assert folder.run("port", ".") == "1 file, 0 changed; nothing left to do; 0 notes.\n"
    assert folder.run("port", "--check", ".") == "1 file, 0 would change; nothing left to do; 0 notes.\n"


def test_something_left_to_do_has_an_exit_code_of_its_own(folder: Terminal) -> None:
    (folder.folder / "rag.py").write_text(ABSENT)

    *_, finding, sums = folder.printed("port", ".", code=NEEDS_A_HAND).splitlines()

    assert finding.startswith("rag.py:1: to do: langroid.agent.special.DocChatAgent does not exist here: ")
    assert sums == "2 files, 2 changed; 1 left to do by hand; 0 notes."
    assert folder.printed("port", ".", code=NEEDS_A_HAND).splitlines()[0] == finding  # until somebody does it


@pytest.mark.parametrize("option", ["--check", "--dry-run"])
def test_a_check_writes_nothing_and_fails_if_a_file_would_change(folder: Terminal, option: str) -> None:
    printed = folder.printed("port", option, "chat.py", code=1)

    assert "1 would change" in printed
    assert (folder.folder / "chat.py").read_text() == PROGRAM


def test_a_diff_writes_nothing_and_is_all_of_standard_output(folder: Terminal) -> None:
    assert folder.run("port", "--diff", "chat.py").splitlines() == [
        "--- chat.py",
        "+++ chat.py",
        "@@ -1,3 +1,3 @@",
        "-import langroid as lr",
        "+import turnwise.langroid as lr",
        " ",
        " print(lr.ChatAgent)",
    ]
    assert (folder.folder / "chat.py").read_text() == PROGRAM


def test_a_diff_of_a_last_line_without_an_end_can_be_applied(folder: Terminal) -> None:
    (folder.folder / "one.py").write_text("import langroid as lr")

    assert folder.run("port", "--diff", "one.py").splitlines()[3:] == [
        "-import langroid as lr",
        "\\ No newline at end of file",
        "+import turnwise.langroid as lr",
        "\\ No newline at end of file",
    ]


def test_json_tells_each_file_with_its_changes_and_findings(folder: Terminal) -> None:
    (folder.folder / "chat.py").write_text(PROGRAM + ABSENT)

    told = json.loads(folder.printed("port", "--json", "chat.py", code=NEEDS_A_HAND))

    assert told["ok"] is False
    (file,) = told["files"]
    assert (file["path"], file["changed"]) == ("chat.py", True)
    assert file["changes"][0] == {
        "line": 1,
        "before": "import langroid as lr",
        "after": "import turnwise.langroid as lr",
    }
    assert [(each["line"], each["level"]) for each in file["findings"]] == [(4, "todo")]


def test_a_finding_of_a_whole_file_has_no_line(folder: Terminal) -> None:
    (folder.folder / "chat.py").write_text("import langroid\nprint 1\n")

    assert "chat.py: to do: left as it is: line 2" in folder.printed("port", "chat.py", code=NEEDS_A_HAND)
    told = json.loads(folder.printed("port", "--json", "chat.py", code=NEEDS_A_HAND))
    assert told["files"][0]["findings"][0]["line"] is None


def test_standard_input_goes_to_standard_output(terminal: Terminal) -> None:
    assert terminal.run("port", "-", input=PROGRAM) == PORTED
    assert terminal.run("port", "--native", "-", input=PROGRAM) == NATIVE


def test_standard_input_goes_alone(terminal: Terminal) -> None:
    assert "- takes no other path" in terminal.run("port", "-", "chat.py", code=2, input=PROGRAM)


def test_a_standard_input_that_is_closed_is_bad_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    with pytest.raises(typer.BadParameter, match="there is no standard input to read the program from"):
        port(["-"])


def test_standard_input_that_is_no_program_is_refused(terminal: Terminal) -> None:
    assert "line 1 cannot be parsed" in terminal.run("port", "-", code=2, input="import langroid!\n")


def test_a_path_is_needed(terminal: Terminal) -> None:
    assert "Missing argument" in terminal.run("port", code=2)


def test_a_missing_path_is_bad_usage_and_nothing_changes(folder: Terminal) -> None:
    assert folder.refused("port", "chat.py", "none.py") == (
        "none.py does not exist; expected a Python file or a folder"
    )
    assert (folder.folder / "chat.py").read_text() == PROGRAM


def test_without_libcst_the_extra_is_named(folder: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("turnwise.porting.codemod")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "libcst", None)

    assert "libcst is not installed" in (told := folder.refused("port", "chat.py"))
    assert told.endswith("pip install 'turnwise[port]'")
    assert (folder.folder / "chat.py").read_text() == PROGRAM


def test_what_a_program_holds_cannot_steer_the_terminal(folder: Terminal) -> None:
    (folder.folder / "chat.py").write_text("import langroid as lr  # \x1b[2J\n")

    assert "\x1b" not in folder.run("port", "chat.py")
