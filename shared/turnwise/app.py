"""An application: tasks by name, in an ordinary module that every process is pointed at."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, overload

from turnwise.base.garbage import collections_paused
from turnwise.errors import ApplicationError, UnknownTaskError
from turnwise.tasks.own_attributes import survey
from turnwise.tasks.task import Task
from turnwise.tasks.tree import TaskTree

Factory = Callable[[], Task[Any]]
F = TypeVar("F", bound=Factory)


class App:
    """Factories of root tasks, by name.

    `version` is kept with each run, so that it is known which code began it. A factory builds a task tree; every
    process builds its own, so it must do the same each time.
    """

    def __init__(self, name: str, version: str = "1") -> None:
        self.name = name
        self.version = version
        self._factories: dict[str, Factory] = {}
        self._trees: dict[str, TaskTree] = {}

    @overload
    def task(self, factory: F) -> F: ...

    @overload
    def task(self, factory: None = None, *, name: str) -> Callable[[F], F]: ...

    def task(self, factory: F | None = None, *, name: str = "") -> F | Callable[[F], F]:
        """Decorate a factory; its task is known by `name`, or the function's name."""

        def register(function: F) -> F:
            key = name or function.__name__
            if key in self._factories:
                raise ApplicationError(f"application {self.name!r} has two tasks named {key!r}; rename one")
            self._factories[key] = function
            return function

        return register(factory) if factory is not None else register

    @property
    def tasks(self) -> list[str]:
        """Names of the tasks, in the order in which they were declared."""
        return list(self._factories)

    def build(self, name: str) -> Task[Any]:
        """A new task tree; raises `UnknownTaskError`, or `ApplicationError` if the factory fails."""
        factory = self._factories.get(name)
        if factory is None:
            known = ", ".join(self.tasks) or "none"
            raise UnknownTaskError(f"application {self.name!r} has no task {name!r}; it has: {known}")
        try:
            task = factory()
        except Exception as error:
            raise ApplicationError(f"the factory of task {name!r} failed: {type(error).__name__}: {error}") from error
        if not isinstance(task, Task):
            raise ApplicationError(f"the factory of task {name!r} returned {type(task).__name__}; expected a Task")
        return task

    def tree(self, name: str) -> TaskTree:
        """The task with all below it, built once per process, from which runs are served."""
        tree = self._trees.get(name)
        if tree is None:
            tree = self.build(name).tree()
            survey(tree)
            self._trees[name] = tree
        return tree

    def check(self) -> None:
        """Build every task once; raises `ApplicationError` for the first that fails."""
        if not self._factories:
            raise ApplicationError(f"application {self.name!r} has no tasks; decorate a factory with @app.task")
        for name in self.tasks:
            self.tree(name)


def load_app(target: str | None) -> App:
    """Import `package.module:app` (the current directory included) and check it; raises `ApplicationError`."""
    if not target:
        raise ApplicationError("no application given; set TURNWISE_APP (or --app) to package.module:app")
    module_name, _, attribute = target.partition(":")
    if not module_name:
        raise ApplicationError(f"{target!r} names no module; expected a turnwise.App, as package.module:app")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        with collections_paused():
            module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            raise ApplicationError(
                f"no module {module_name!r} (searched the current directory, {Path.cwd()}, and the environment)"
            ) from error
        raise ApplicationError(f"module {module_name!r} fails to load: {error}") from error
    except (Exception, SystemExit) as error:  # a module may be a script that exits
        raise ApplicationError(f"module {module_name!r} fails to load: {type(error).__name__}: {error}") from error
    found = getattr(module, attribute or "app", None)
    if not isinstance(found, App):
        what = "nothing" if found is None else type(found).__name__
        raise ApplicationError(f"{target!r} names {what}; expected a turnwise.App, as package.module:app")
    found.check()
    return found
