"""Each form of import, rewritten to `turnwise.langroid`."""

from __future__ import annotations

import pytest

from turnwise.errors import PortingError
from turnwise.porting.codemod.rewriting import rewrite

FORMS = {
    "import langroid": "import turnwise.langroid as langroid",
    "import langroid as lr": "import turnwise.langroid as lr",
    "import langroid.language_models as lm": "import turnwise.langroid.language_models as lm",
    "import langroid.agent.task": "import turnwise.langroid as langroid",
    "import os, langroid as lr, sys": "import os, turnwise.langroid as lr, sys",
    "import langroid.agent.task, langroid.agent.base, os": "import turnwise.langroid as langroid, os",
    "import os, langroid, langroid.agent.task": "import os, turnwise.langroid as langroid",
    "import langroid.agent.task, langroid as lr": "import turnwise.langroid as langroid, turnwise.langroid as lr",
    "from langroid import ChatAgent": "from turnwise.langroid import ChatAgent",
    "from langroid import agent": "from turnwise.langroid import agent",
    "from langroid import *": "from turnwise.langroid import *",
    "from langroid.agent.task import Task as T": "from turnwise.langroid.agent.task import Task as T",
    "from langroid.agent.task import (\n    Task,  # why\n    TaskConfig as TC,\n)": (
        "from turnwise.langroid.agent.task import (\n    Task,  # why\n    TaskConfig as TC,\n)"
    ),
    "from  langroid . agent  import  Task  # spaced": "from  turnwise.langroid . agent  import  Task  # spaced",
    "from langroid.agent \\\n    import ChatAgent": "from turnwise.langroid.agent \\\n    import ChatAgent",
    "import os; import langroid as lr; x = 1": "import os; import turnwise.langroid as lr; x = 1",
    "if True: from langroid import Task": "if True: from turnwise.langroid import Task",
    "def f():\n    import langroid as lr\n    return lr": "def f():\n    import turnwise.langroid as lr\n    return lr",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n\tfrom langroid import Task": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n\tfrom turnwise.langroid import Task"
    ),
    "try:\n    import langroid\nexcept ImportError:\n    langroid = None": (
        "try:\n    import turnwise.langroid as langroid\nexcept ImportError:\n    langroid = None"
    ),
}


@pytest.mark.parametrize("before", FORMS)
def test_a_form_of_import_names_turnwise_langroid_and_binds_what_it_bound(before: str) -> None:
    assert rewrite(f"{before}\n").after == f"{FORMS[before]}\n"


@pytest.mark.parametrize("before", FORMS)
def test_a_second_rewriting_changes_nothing(before: str) -> None:
    once = rewrite(f"{before}\n")
    assert rewrite(once.after).after == once.after
    assert rewrite(once.after).changes == ()


@pytest.mark.parametrize(
    "other",
    [
        "import langroid_tools",
        "from langroid_tools.agent import Task",
        "from .langroid import Task",
        "from . import langroid",
        "from mine.langroid import Task",
        "import mine.langroid as lr",
        "langroid = 1\nlangroid.agent = 2",
        '"""Written with langroid."""',
        "# import langroid",
        "import turnwise\nfrom turnwise.langroid import Task",
    ],
)
def test_what_is_no_import_of_the_reference_stays(other: str) -> None:
    rewritten = rewrite(f"{other}\n")
    assert (rewritten.after, rewritten.changes) == (f"{other}\n", ())


def test_a_change_is_told_with_its_line_before_and_after() -> None:
    (change,) = rewrite("import os\n\n\nfrom   langroid.agent import (\n    Task,\n)\n").changes

    assert change.line == 4
    assert change.before == "from langroid.agent import ("
    assert change.after == "from turnwise.langroid.agent import ("


def test_what_is_no_python_is_refused_with_its_line() -> None:
    with pytest.raises(PortingError, match="line 2 cannot be parsed"):
        rewrite("import langroid\nprint 'old'\n")
