"""The log of a run in this process: its files, and what they say."""

from __future__ import annotations

import asyncio
import csv
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    Entity,
    MockLMConfig,
    Task,
    TaskConfig,
    ToolMessage,
)
from turnwise.errors import ConfigurationError
from turnwise.transcripts.file_names import LogFiles


class AddTool(ToolMessage):
    request: str = "add"
    purpose: str = "Add <a> and <b>."
    a: int
    b: int

    def handle(self) -> str:
        return f"The sum is {self.a + self.b}"


class BreakTool(ToolMessage):
    request: str = "break"
    purpose: str = "Break."

    def handle(self) -> str:
        raise ValueError("it broke")


def task(
    name: str, words: dict[str, str] | str, *tools: type[ToolMessage], kind: type[Task] = Task, **config: Any
) -> Task:
    model = MockLMConfig(default_response=words) if isinstance(words, str) else MockLMConfig(response_dict=words)
    agent = ChatAgent(ChatAgentConfig(name=name, llm=model))
    agent.enable_message(list(tools))
    return kind(agent, interactive=False, config=TaskConfig(**config))


def team(folder: Path | None, **config: Any) -> Task:
    """A lead that adds, asks a researcher, and is done."""
    logs_dir = str(folder) if folder is not None else None
    words = {
        "begin": 'First\tthe sum.\n{"request": "add", "a": 1, "b": 2}',
        "The sum is 3": "TO[researcher]: which bird?",
        "a heron": "DONE It was a heron.",
    }
    lead = task("lead", words, AddTool, logs_dir=logs_dir, **config)
    lead.add_sub_task(task("researcher", "DONE a heron"))
    return lead


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def names(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir())


# --- which files ------------------------------------------------------------------------------------------------------


def test_nothing_is_written_until_a_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    team(None).run("begin")

    assert names(tmp_path) == []


def test_a_run_has_a_file_of_each_kind_that_bears_its_name(tmp_path: Path) -> None:
    team(tmp_path / "deep" / "logs").run("begin")

    assert names(tmp_path / "deep" / "logs") == ["lead.html", "lead.log", "lead.tsv"]


@pytest.mark.parametrize(
    ("config", "expected"),
    [({"enable_loggers": False}, []), ({"enable_html_logging": False}, ["lead.log", "lead.tsv"])],
)
def test_logs_can_be_left_out(tmp_path: Path, config: dict[str, bool], expected: list[str]) -> None:
    team(tmp_path, **config).run("begin")

    assert names(tmp_path) == expected


def test_the_newest_run_has_the_plain_name_and_older_ones_are_kept(tmp_path: Path) -> None:
    lead = team(tmp_path, enable_html_logging=False)
    for message in ("first", "second", "third"):
        lead.run(message)

    found = {name: (tmp_path / name).read_text().splitlines()[1] for name in names(tmp_path) if name.endswith("log")}
    assert {name: line.rpartition(" ")[2][:6] for name, line in found.items()} == {
        "lead.1.log": "first\x1b",
        "lead.2.log": "second",
        "lead.log": "third\x1b",
    }


@pytest.mark.parametrize("name", ["..", "a b:c\\d", "größe 🐦", "名" * 200, "lead.1"])
def test_any_name_of_a_task_makes_files_in_the_folder(tmp_path: Path, name: str) -> None:
    task(name, "DONE", logs_dir=str(tmp_path / "logs")).run("go")

    assert names(tmp_path) == ["logs"]
    assert len(names(tmp_path / "logs")) == 3


def test_a_folder_that_can_not_be_written_is_told_before_the_run_begins(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigurationError, match=r"no log can be written to logs_dir .*file.*enable_loggers=False"):
        team(tmp_path / "file").run("begin")


def test_runs_at_the_same_time_have_a_file_each(tmp_path: Path) -> None:
    async def together() -> None:
        await asyncio.gather(*(team(tmp_path).run_async(f"begin {n}") for n in range(5)))

    asyncio.run(together())
    threads = [threading.Thread(target=team(tmp_path).run, args=("begin",)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    files = [file for file in tmp_path.iterdir() if file.suffix == ".tsv"]
    assert len(files) == 10
    for file in files:
        assert [row["kind"] for row in rows(file)].count("ended") == 1
        assert [int(row["number"]) for row in rows(file) if row["number"]] == list(
            range(1, sum(bool(row["number"]) for row in rows(file)) + 1)
        )


# --- what they say ----------------------------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_message_of_all_tasks_in_order(tmp_path: Path) -> None:
    team(tmp_path).run("begin")

    found = [(row["mark"], row["task"], row["responder"], row["content"]) for row in rows(tmp_path / "lead.tsv")]
    assert found == [
        ("", "lead", "", ""),
        ("", "lead", "User", "begin"),
        ("*", "lead", "LLM", 'First\\tthe sum.\\n{"request": "add", "a": 1, "b": 2}'),
        ("*", "lead", "Agent", "The sum is 3"),
        ("*", "lead", "LLM", "which bird?"),
        ("", "lead/researcher", "", ""),
        ("", "lead/researcher", "User", "which bird?"),
        ("*", "lead/researcher", "LLM", "DONE a heron"),
        ("", "lead/researcher", "", "DONE"),
        ("*", "lead", "researcher", "a heron"),
        ("*", "lead", "LLM", "DONE It was a heron."),
        ("", "lead", "", "DONE"),
        ("", "lead", "", "DONE"),
    ]


def test_a_row_names_sender_recipient_tool_and_what_is_answered(tmp_path: Path) -> None:
    team(tmp_path).run("begin")

    by_number = {row["number"]: row for row in rows(tmp_path / "lead.tsv")}
    assert (by_number["2"]["tool_type"], by_number["2"]["tool"], by_number["2"]["parent"]) == ("TOOL", "add", "1")
    assert by_number["4"]["recipient"] == "researcher"
    assert (by_number["7"]["sender_entity"], by_number["7"]["sender_name"]) == ("User", "researcher")


def test_an_answer_that_was_not_valid_is_logged_without_a_mark(tmp_path: Path) -> None:
    unsure = task("unsure", "DO-NOT-KNOW", logs_dir=str(tmp_path))

    unsure.run("go", turns=1)

    found = [(row["kind"], row["mark"], row["content"]) for row in rows(tmp_path / "unsure.tsv")]
    assert found[2:4] == [("rejected", "", "DO-NOT-KNOW"), ("taken", "*", "DO-NOT-KNOW")]


def test_the_text_is_coloured_unless_that_is_turned_off(tmp_path: Path) -> None:
    lead = team(tmp_path)
    lead.run("begin")
    lead.set_color_log(False)
    lead.run("begin")

    assert "\x1b[" in (tmp_path / "lead.1.log").read_text()
    plain = [line[13:] for line in (tmp_path / "lead.log").read_text().splitlines()]
    assert plain == [
        "lead",
        "  (lead) User: begin",
        "* (lead) LLM TOOL(add): First\tthe sum.",
        '    {"request": "add", "a": 1, "b": 2}',
        "* (lead) Agent: The sum is 3",
        "* (lead) LLM => researcher: which bird?",
        "  lead/researcher",
        "    (lead/researcher) User => researcher: which bird?",
        "  * (lead/researcher) LLM: DONE a heron",
        "  lead/researcher: DONE",
        "* (lead) researcher User(researcher): a heron",
        "* (lead) LLM: DONE It was a heron.",
        "end: DONE",
    ]


@pytest.mark.parametrize("hostile", ["\x1b[2J\x07", "\u202egnp.exe", "\ud800", "a\rb", "\x00"])
def test_a_text_can_not_command_a_terminal_or_break_a_file(tmp_path: Path, hostile: str) -> None:
    talker = task("talker", f"DONE {hostile}", logs_dir=str(tmp_path))
    talker.set_color_log(False)

    talker.run("go")

    for name in ("talker.log", "talker.tsv", "talker.html"):
        text = (tmp_path / name).read_bytes().decode()
        assert not set(text) & set("\x1b\x07\u202e\ud800\r\x00"), name
    assert len(rows(tmp_path / "talker.tsv")) == 5


# --- how it ends ------------------------------------------------------------------------------------------------------


def test_what_a_handler_raises_is_the_log_s_end(tmp_path: Path) -> None:
    breaker = task("breaker", '{"request": "break"}', BreakTool, logs_dir=str(tmp_path))

    with pytest.raises(ValueError, match="it broke"):
        breaker.run("go")

    last = rows(tmp_path / "breaker.tsv")[-1]
    assert (last["kind"], last["content"]) == ("ended", "ERROR ValueError: it broke")
    assert (tmp_path / "breaker.html").read_text().endswith("</html>\n")


def test_what_happened_so_far_is_in_the_files_while_the_run_goes_on(tmp_path: Path) -> None:
    seen: dict[str, str] = {}

    class LookTool(ToolMessage):
        request: str = "look"
        purpose: str = "Look."

        def handle(self) -> str:
            seen.update({file.suffix: file.read_text() for file in tmp_path.iterdir()})
            return "DONE"

    task("looker", 'a heron? {"request": "look"}', LookTool, logs_dir=str(tmp_path)).run("go")

    assert set(seen) == {".log", ".tsv", ".html"}
    assert all("a heron?" in text for text in seen.values())


def test_a_disk_that_fails_later_ends_the_log_and_not_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = LogFiles.make

    def full(files: LogFiles, endings: Any) -> Any:
        found = made(files, endings)
        found["tsv"].close()
        found["tsv"] = open("/dev/full", "w")  # noqa: PTH123, SIM115
        return found

    monkeypatch.setattr(LogFiles, "make", full)
    with caplog.at_level(logging.WARNING):
        result = team(tmp_path).run("begin")

    assert result is not None
    assert result.content == "It was a heron."
    assert [record.message for record in caplog.records if "cannot be written" in record.message]
    assert "It was a heron." in (tmp_path / "lead.log").read_text()


# --- log_message ------------------------------------------------------------------------------------------------------


def test_a_task_that_overrides_log_message_decides_what_is_logged(tmp_path: Path) -> None:
    class Discreet(Task):
        def log_message(self, resp: Entity | Task, msg: ChatDocument | None = None, mark: bool = False) -> None:
            if msg is not None and "secret" in msg.content:
                msg = ChatDocument.deepcopy(msg)
                msg.content = "(left out)"
            if resp is not Entity.USER:
                super().log_message(resp, msg, mark)

    discreet = task("discreet", "DONE the secret is 4", kind=Discreet, logs_dir=str(tmp_path))

    result = discreet.run("go")

    assert result is not None
    assert result.content == "the secret is 4"
    found = rows(tmp_path / "discreet.tsv")
    assert [(row["responder"], row["content"]) for row in found if row["number"]] == [("LLM", "(left out)")]
    assert "secret" not in (tmp_path / "discreet.html").read_text().partition("<main>")[2]


def test_log_message_outside_a_run_does_nothing(tmp_path: Path) -> None:
    team(tmp_path).log_message(Entity.USER, ChatDocument(content="hello"), mark=True)

    assert names(tmp_path) == []
