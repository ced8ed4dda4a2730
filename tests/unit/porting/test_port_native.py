"""Imports rewritten to names of `turnwise` itself."""

from __future__ import annotations

import pytest

from turnwise.porting.codemod.rewriting import rewrite

FORMS = {
    "from langroid.agent.task import Task": "from turnwise import Task",
    "from langroid import ChatAgent as A, Task": "from turnwise import ChatAgent as A, Task",
    "from langroid.agent.task import (\n    Task,  # why\n)": "from turnwise import (\n    Task,  # why\n)",
    "from langroid.pydantic_v1 import BaseModel, Field": "from pydantic import BaseModel, Field",
    # Some names stay in turnwise.langroid.
    "from langroid.utils.logging import setup_colored_logging": (
        "from turnwise.langroid.utils.logging import setup_colored_logging"
    ),
    "if x:\n    from langroid.language_models.openai_gpt import OpenAIGPTConfig, Unheard": (
        "if x:\n    from turnwise import OpenAIGPTConfig\n"
        "    from turnwise.langroid.language_models.openai_gpt import Unheard"
    ),
    "x = 1; from langroid.agent.task import Task, Unheard": (
        "x = 1; from turnwise import Task; from turnwise.langroid.agent.task import Unheard"
    ),
    "from langroid.agent.task import (\n    Task,  # why\n    Unheard,\n)": (
        "from turnwise.langroid.agent.task import (\n    Task,  # why\n    Unheard,\n)"
    ),
    "from langroid import *": "from turnwise.langroid import *",
    "from langroid.utils import constants\nconstants.DONE": (
        "from turnwise.langroid.utils import constants\nconstants.DONE"
    ),
    # Modules.
    "import langroid as lr\nlr.Task(lr.ChatAgent())": "import turnwise as lr\nlr.Task(lr.ChatAgent())",
    "import langroid.language_models as lm\nlm.OpenAIGPTConfig()": "import turnwise as lm\nlm.OpenAIGPTConfig()",
    "import langroid as lr\nlr.utils.constants.DONE.lower()": "import turnwise as lr\nlr.DONE.lower()",
    "import langroid\nlangroid.agent.task.Task()": "import turnwise\nturnwise.Task()",
    "import langroid.agent.task\nlangroid.agent.task.Task()": "import turnwise\nturnwise.Task()",
    "import langroid\nturnwise = 1\nlangroid.Task()": "import turnwise as langroid\nturnwise = 1\nlangroid.Task()",
    "import langroid\ndef f(turnwise): return langroid.Task(turnwise)": (
        "import turnwise as langroid\ndef f(turnwise): return langroid.Task(turnwise)"
    ),
    "import langroid\ndef f():\n    import turnwise.testing\n    return langroid.Task": (
        "import turnwise as langroid\ndef f():\n    import turnwise.testing\n    return langroid.Task"
    ),
    "import langroid as lr\ndef f(a: 'lr.Task'): return lr.agent.Task": (
        "import turnwise as lr\ndef f(a: 'lr.Task'): return lr.Task"
    ),
    "import langroid as lr\ndef f():\n    lr = 1\n    return lr.utils.constants\nlr.Task": (
        "import turnwise as lr\ndef f():\n    lr = 1\n    return lr.utils.constants\nlr.Task"
    ),
    # Modules that have more than `turnwise` itself.
    "import langroid as lr\nlr.Task()\nlr.utils.logging.setup_colored_logging()": (
        "import turnwise.langroid as lr\nlr.Task()\nlr.utils.logging.setup_colored_logging()"
    ),
    "import langroid as lr\ngetattr(lr, 'Task')": "import turnwise.langroid as lr\ngetattr(lr, 'Task')",
    "import langroid as lr\ndef f(a: 'lr.agent.Task'): ...": (
        "import turnwise.langroid as lr\ndef f(a: 'lr.agent.Task'): ..."
    ),
    "try:\n    import langroid as lr\nexcept ImportError:\n    lr = None\nlr.Task": (
        "try:\n    import turnwise.langroid as lr\nexcept ImportError:\n    lr = None\nlr.Task"
    ),
    # What was ported to turnwise.langroid before.
    "import turnwise.langroid as lr\nlr.agent.Task": "import turnwise as lr\nlr.Task",
    "from turnwise.langroid.agent import Task": "from turnwise import Task",
    "from turnwise import langroid as lr\nlr.Task": "from turnwise import langroid as lr\nlr.Task",
}


@pytest.mark.parametrize("before", FORMS)
def test_imports_and_uses_name_turnwise_where_it_has_the_name(before: str) -> None:
    assert rewrite(f"{before}\n", native=True).after == f"{FORMS[before]}\n"


@pytest.mark.parametrize("before", FORMS)
def test_a_second_rewriting_changes_nothing(before: str) -> None:
    once = rewrite(f"{before}\n", native=True).after
    assert rewrite(once, native=True).after == once


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from langroid.agent.task import Task\nimport os\nfrom langroid import ChatAgent, Task\n\nprint(os)\n",
            "from turnwise import Task, ChatAgent\nimport os\n\nprint(os)\n",
        ),
        (
            "from turnwise import App\nfrom langroid import Task as T\n",
            "from turnwise import App, Task as T\n",
        ),
        (
            "def f():\n    from langroid import Task\n    from langroid.agent import ChatAgent\n",
            "def f():\n    from turnwise import Task, ChatAgent\n",
        ),
        (
            "import os\r\nfrom langroid.agent import ChatAgent, ChatAgentConfig\r\nfrom langroid.agent.tools."
            "orchestration import AgentDoneTool, DoneTool, ForwardTool, PassTool\r\n",
            "import os\r\nfrom turnwise import (\r\n    ChatAgent,\r\n    ChatAgentConfig,\r\n    AgentDoneTool,\r\n"
            "    DoneTool,\r\n    ForwardTool,\r\n    PassTool,\r\n)\r\n",
        ),
        (
            "import a\n\nfrom langroid.agent import ChatAgent\n\nfrom langroid import Task\n\nfrom b import c\n",
            "import a\n\nfrom turnwise import ChatAgent, Task\n\nfrom b import c\n",
        ),
    ],
)
def test_imports_that_follow_each_other_become_one(before: str, after: str) -> None:
    assert rewrite(before, native=True).after == after


@pytest.mark.parametrize(
    "between",
    ["# about agents\n", "x = 1\n", "try:\n    pass\nfinally:\n    pass\n"],
)
def test_imports_with_comments_or_statements_between_stay_apart(between: str) -> None:
    text = f"from langroid import Task\n{between}from langroid import ChatAgent\n"

    assert rewrite(text, native=True).after == text.replace("langroid", "turnwise")


def test_an_import_with_a_comment_keeps_its_line() -> None:
    text = "from langroid import Task\nfrom langroid import Entity  # to tell who\nfrom langroid import ChatAgent\n"

    after = rewrite(text, native=True).after

    assert after == "from turnwise import Task, ChatAgent\nfrom turnwise import Entity  # to tell who\n"


def test_what_stays_is_told_with_the_use_that_keeps_it() -> None:
    text = "import os\nimport langroid as lr\nlr.Task\nlr.utils.logging.setup_colored_logging()\n"

    rewritten = rewrite(text, native=True)

    ((at, said),) = rewritten.kept
    assert rewritten.line_after(at) == 2
    assert (
        said == "`lr` stays turnwise.langroid: no name in `turnwise` itself for lr.utils.logging.setup_colored_logging"
    )


def test_a_module_that_a_class_imports_stays_as_instances_may_use_it() -> None:
    text = "class A:\n    import langroid as lr\n    def f(self):\n        return self.lr.utils.constants.DONE\n"

    rewritten = rewrite(text, native=True)

    assert rewritten.after == text.replace("langroid", "turnwise.langroid")
    assert [said for _, said in rewritten.kept] == [
        "`lr` stays turnwise.langroid: it is an attribute of a class, whose uses are not followed"
    ]


def test_lines_afterwards_follow_what_was_merged() -> None:
    text = "from langroid import Task\nfrom langroid import ChatAgent\nmark = 1\n"

    rewritten = rewrite(text, native=True)

    at = text.index("mark")
    assert (rewritten.line_before(at), rewritten.line_after(at)) == (3, 2)
