"""Findings: names, settings and arguments that do not work here, strings, and attributes that no run can save."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

import turnwise
from turnwise.agents.attributes.encoding import Encoder, NotDataError
from turnwise.porting.codemod.porting import port_text
from turnwise.porting.codemod.report import Level, PortingFinding

HEAD = (
    "import langroid as lr\nfrom langroid.agent.task import Task\nfrom langroid.utils.configuration import settings\n"
)


def found(text: str, *, native: bool = False) -> list[PortingFinding]:
    """The findings of a program, which has three lines of imports above it."""
    return list(port_text(HEAD + text, "x.py", native=native).findings)


def only(text: str, *, native: bool = False) -> PortingFinding:
    (finding,) = found(text, native=native)
    return finding


# --- names ------------------------------------------------------------------------------------------------------------


def test_an_absent_name_is_told_where_it_is_imported_with_what_there_is_instead() -> None:
    finding = only("from langroid.agent.special import DocChatAgent\n")

    assert (finding.line, finding.level) == (4, Level.TODO)
    assert finding.said.startswith(
        "langroid.agent.special.DocChatAgent does not exist here: give an agent a vector store"
    )


@pytest.mark.parametrize(
    "use",
    ["x = lr.agent.special.DocChatAgent()", "def f(a: lr.agent.special.DocChatAgent): ...", "print(lr.DocChatAgent)"],
)
def test_an_absent_name_is_told_where_a_module_s_attribute_is_used(use: str) -> None:
    finding = only(f"\n{use}\n")

    assert (finding.line, finding.level) == (5, Level.TODO)
    assert "DocChatAgent does not exist here" in finding.said


def test_a_module_that_is_absent_is_told() -> None:
    assert only("import langroid.agent.special.neo4j.neo4j_chat_agent as neo\n").level is Level.TODO


def test_a_name_in_another_module_is_told_with_that_module() -> None:
    assert "it is in turnwise.langroid" in only("from langroid.agent.special import Task as T\n").said


def test_a_name_that_nobody_knows_is_told() -> None:
    assert only("lr.Unheard\n").said == "langroid.Unheard does not exist here, and no name is known that stands for it"


def test_a_name_without_effect_is_a_note() -> None:
    finding = only("from langroid.utils.logging import setup_colored_logging\n")

    assert finding.level is Level.NOTE
    assert "setup_colored_logging has no effect here" in finding.said


def test_a_star_import_is_a_note() -> None:
    assert only("from langroid import *\n") == PortingFinding(
        line=4, level=Level.NOTE, said="the names that langroid.* brings are not checked"
    )


def test_a_member_that_a_class_does_not_have_is_told() -> None:
    assert only("lr.Entity.LLM\nlr.Entity.ROBOT\n") == PortingFinding(
        line=5, level=Level.TODO, said="Entity has no 'ROBOT' here"
    )


def test_a_name_shadowed_by_a_local_variable_is_nobody_s() -> None:
    assert found("def f(lr):\n    return lr.agent.special.DocChatAgent\n") == []


def test_all_is_well_with_what_works() -> None:
    assert (
        found("settings.quiet = True\nt = Task(lr.ChatAgent(lr.ChatAgentConfig(name='a')), interactive=False)\n") == []
    )


# --- settings and arguments -------------------------------------------------------------------------------------------


def test_a_setting_without_effect_is_a_note_and_natively_something_to_remove() -> None:
    text = "lr.ChatAgentConfig(\n    name='a',\n    show_stats=False,\n)\n"

    assert (only(text).line, only(text).level) == (6, Level.NOTE)
    assert only(text, native=True).level is Level.TODO
    assert only(text, native=True).said.endswith("; remove it")


def test_a_setting_of_a_module_that_stays_turnwise_langroid_is_a_note_natively_as_well() -> None:
    stays, *others = found("lr.utils.logging\nlr.utils.configuration.Settings(debug=True)\n", native=True)

    assert stays.said.startswith("`lr` stays turnwise.langroid")
    assert [(each.level, each.said.partition(" ")[0]) for each in others] == [(Level.NOTE, "Settings(debug=...)")]


def test_a_setting_that_does_not_exist_is_told_as_the_class_tells_it() -> None:
    said = only("lr.ChatAgentConfig(nam='a')\n").said

    assert said == "ChatAgentConfig has no setting 'nam'; did you mean 'name'?"


def test_a_global_setting_without_effect_is_told_where_it_is_set() -> None:
    finding = only("settings.debug = True\n")

    assert (finding.line, finding.level) == (4, Level.NOTE)
    assert finding.said.startswith("settings.debug has no effect here")


def test_an_argument_that_a_class_or_function_does_not_take_is_told() -> None:
    said = [each.said for each in found("Task(None, flavour=1)\nlr.run_batch_tasks(None, [], zeal=2)\n")]

    assert said == ["Task takes no argument 'flavour' here", "run_batch_tasks takes no argument 'zeal' here"]


def test_what_was_ported_natively_is_judged_in_the_same_way() -> None:
    text = "import turnwise\nfrom turnwise import Task\nTask(None, flavour=1)\nturnwise.ChatAgentConfig(show_stats=1)\n"

    first, second = port_text(text, "x.py", native=True).findings

    assert (first.line, first.said) == (3, "Task takes no argument 'flavour' here")
    assert (second.line, second.level) == (4, Level.TODO)


def test_members_are_judged_natively_as_well() -> None:
    text = "import turnwise as tw\nfrom turnwise import Entity\ntw.Entity.ROBOT\nEntity.LLM\nEntity.ROBOT\n"

    assert [(each.line, each.said) for each in port_text(text, "x.py").findings] == [
        (3, "Entity has no 'ROBOT' here"),
        (5, "Entity has no 'ROBOT' here"),
    ]


def test_a_finding_has_the_line_where_its_name_is_afterwards() -> None:
    text = "from langroid.language_models.openai_gpt import OpenAIGPTConfig, Unheard\n"

    before = port_text(text, "x.py", native=True, written=False)
    after = port_text(text, "x.py", native=True)

    assert ([each.line for each in before.findings], [each.line for each in after.findings]) == ([1], [2])
    assert "Unheard" in after.after.splitlines()[1]


def test_a_call_of_what_needs_an_extra_that_is_not_installed_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "turnwise.porting.settings", None)

    assert found("lr.ChatAgentConfig(nam='a')\n") == []


# --- strings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "patch('langroid.agent.task.Task')",
        "import_module('langroid')",
        "importlib.util.find_spec('langroid')",
        "names = {'a': \"langroid.agent\"}",
    ],
)
def test_a_string_that_names_a_module_is_told_and_stays(text: str) -> None:
    report = port_text(f"import langroid\n{text}\n", "x.py")

    (finding,) = report.findings
    assert (finding.line, finding.level) == (2, Level.TODO)
    assert "write 'turnwise.langroid" in finding.said
    assert text in report.after


def test_a_logger_is_a_note() -> None:
    assert only("logging.getLogger('langroid.agent')\n").level is Level.NOTE


@pytest.mark.parametrize(
    "text",
    ["'langroid'", "name = 'langroid'", "x = 'see langroid.agent for more'", "f('langroid-demo')", "'langroid.x'"],
)
def test_other_strings_are_left_alone(text: str) -> None:
    assert found(f"{text}\n") == []


def test_inline_metadata_of_a_script_is_told() -> None:
    text = '# /// script\n# dependencies = [\n#     "fire",\n#     "langroid[hf]>=0.5",\n# ]\n# ///\nimport langroid\n'

    (finding,) = port_text(text, "x.py").findings

    assert (finding.line, finding.level) == (4, Level.TODO)
    assert "require turnwise instead" in finding.said


# --- attributes -------------------------------------------------------------------------------------------------------

AGENT = """
class Mine(lr.ChatAgent):
    def __init__(self, config):
        super().__init__(config)
        self.file = open("a")
        self.set_up()

    def set_up(self):
        self.lock = threading.Lock()

    def handle(self, message):
        self.count = 1
        self.found = [message]
        {statement}
"""


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("self.key = lambda x: x", "a lambda"),
        ("self.file = open('b')", "an open file"),
        ("self.lock = threading.Lock()", "a lock"),
        ("self.each = (x for x in [])", "a generator"),
        ("self.helper = lr.ChatAgent(None)", "an agent or a task"),
        ("self.task: object = Task(None)", "an agent or a task"),
    ],
)
def test_an_attribute_that_no_run_can_save_is_a_note(statement: str, kind: str) -> None:
    finding = only(AGENT.format(statement=statement))

    assert (finding.line, finding.level) == (17, Level.NOTE)
    assert f"cannot keep {kind} in self." in finding.said


@pytest.mark.parametrize(
    "statement", ["self.a = f()", "other.key = lambda x: x", "key = lambda x: x", "self.a = self.b"]
)
def test_an_attribute_of_which_nothing_is_certain_is_none(statement: str) -> None:
    assert found(AGENT.format(statement=statement)) == []


def test_a_class_of_somebody_else_keeps_what_it_likes() -> None:
    assert found(AGENT.format(statement="self.key = lambda x: x").replace("lr.ChatAgent", "Other")) == []


LIVE: list[object] = [
    lambda x: x,
    (letter for letter in "ab"),
    threading.Lock(),
    threading.RLock(),
    threading.Event(),
    threading.Thread(),
    asyncio.Lock(),
    asyncio.Event(),
    asyncio.Queue(),
    queue.Queue(),
    turnwise.ChatAgent(turnwise.ChatAgentConfig(name="a")),
    turnwise.Task(turnwise.ChatAgent(turnwise.ChatAgentConfig(name="b"))),
]


@pytest.mark.parametrize("value", LIVE, ids=lambda value: type(value).__name__)
def test_what_is_noted_is_what_a_served_run_refuses_to_save(value: object) -> None:
    with pytest.raises(NotDataError):
        Encoder(object(), {}, {}, {}).attribute("kept", value)


def test_an_open_file_and_a_connection_are_refused_as_well(tmp_path: Path) -> None:
    with (tmp_path / "a").open("w") as file, closing(sqlite3.connect(":memory:")) as connection:
        for value in (file, connection):
            with pytest.raises(NotDataError):
                Encoder(object(), {}, {}, {}).attribute("kept", value)
