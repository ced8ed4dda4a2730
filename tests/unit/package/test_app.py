"""Applications: named factories, and loading them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise import App, ChatAgent, ChatAgentConfig, Task
from turnwise.app import load_app
from turnwise.cli.signals import exit_when_stopped
from turnwise.errors import ApplicationError, UnknownTaskError


def a_task() -> Task:
    return Task(ChatAgent(ChatAgentConfig(name="Bot")))


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory, empty and not yet importable; what is imported from it is forgotten again."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("sample"):
            del sys.modules[name]


GOOD = """
from turnwise import App, ChatAgent, Task
app = App("good", version="3")
other = 7

@app.task
def chat():
    return Task(ChatAgent())
"""


def test_a_task_is_known_by_its_function_or_its_given_name() -> None:
    app = App("shop")
    app.task(a_task)
    app.task(name="second")(a_task)
    assert app.tasks == ["a_task", "second"]
    assert app.build("second").name == "Bot"


def test_each_build_is_a_new_tree_and_the_template_is_built_once() -> None:
    app = App("shop")
    app.task(a_task)
    assert app.build("a_task") is not app.build("a_task")
    assert app.tree("a_task") is app.tree("a_task")


def test_a_name_that_is_taken_is_refused() -> None:
    app = App("shop")
    app.task(a_task)
    with pytest.raises(ApplicationError, match="'shop' has two tasks named 'a_task'; rename one"):
        app.task(a_task)


def test_an_unknown_task_is_told_with_the_known_ones() -> None:
    app = App("shop")
    with pytest.raises(UnknownTaskError, match="'shop' has no task 'x'; it has: none"):
        app.build("x")
    app.task(a_task)
    with pytest.raises(UnknownTaskError, match="it has: a_task"):
        app.tree("x")


def test_a_factory_that_fails_or_returns_something_else_is_named() -> None:
    app = App("shop")

    @app.task
    def broken() -> Task:
        raise ZeroDivisionError("nothing left")

    @app.task
    def wrong() -> Task:
        return "a task"  # type: ignore[return-value]

    with pytest.raises(ApplicationError, match="the factory of task 'broken' failed: ZeroDivisionError: nothing left"):
        app.build("broken")
    with pytest.raises(ApplicationError, match="the factory of task 'wrong' returned str; expected a Task"):
        app.build("wrong")


def test_an_application_without_tasks_is_refused() -> None:
    with pytest.raises(ApplicationError, match="'empty' has no tasks; decorate a factory with @app"):
        App("empty").check()


def test_an_application_is_loaded_from_the_current_directory(modules: Path) -> None:
    (modules / "sample_good.py").write_text(GOOD)
    app = load_app("sample_good:app")
    assert (app.name, app.version, app.tasks) == ("good", "3", ["chat"])
    assert load_app("sample_good") is app


def test_a_process_that_is_to_stop_while_its_application_loads_stops(modules: Path) -> None:
    (modules / "sample_slow.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")

    with exit_when_stopped(), pytest.raises(SystemExit) as end:
        load_app("sample_slow:app")

    assert end.value.code == 0


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (None, "no application given; set TURNWISE_APP"),
        ("", "no application given"),
        ("sample_missing:app", "no module 'sample_missing' .searched the current directory"),
        ("sample_missing.deep:app", "no module 'sample_missing.deep'"),
        ("sample_good:nothing", "'sample_good:nothing' names nothing; expected a turnwise.App"),
        ("sample_good:other", "'sample_good:other' names int; expected a turnwise.App"),
        ("sample_raises:app", "'sample_raises' fails to load: ValueError: bad start"),
        ("sample_imports:app", "'sample_imports' fails to load: No module named 'not_installed_anywhere'"),
        ("sample_broken:app", "'sample_broken' fails to load: SyntaxError"),
        ("sample_factory:app", "the factory of task 'chat' failed: KeyError"),
        (":app", "':app' names no module"),
        ("a b:app", "no module 'a b'"),
        ("..sample:app", "application|module"),
    ],
)
def test_what_is_wrong_with_a_target_is_said(modules: Path, target: str | None, said: str) -> None:
    (modules / "sample_good.py").write_text(GOOD)
    (modules / "sample_raises.py").write_text("raise ValueError('bad start')")
    (modules / "sample_imports.py").write_text("import not_installed_anywhere")
    (modules / "sample_broken.py").write_text("def (:")
    (modules / "sample_factory.py").write_text(GOOD.replace("return Task(ChatAgent())", "return {}['x']"))
    with pytest.raises(ApplicationError, match=said):
        load_app(target)
