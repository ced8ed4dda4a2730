"""An application: tasks by name, in an ordinary module that every process is pointed at."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from turnwise.base.garbage import collections_paused
from turnwise.base.json_value import given
from turnwise.base.process_end import StopRequested
from turnwise.errors import ApplicationError, UnknownTaskError
from turnwise.tasks.own_attributes import survey
from turnwise.tasks.task import Task
from turnwise.tasks.tree import TaskTree

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from turnwise.schedules.declared import DeclaredSchedule
    from turnwise.schedules.policies import CatchUp, OverlapPolicy

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
        self._descriptions: dict[str, str] = {}
        self._trees: dict[str, TaskTree] = {}
        self._schedules: dict[tuple[str, str], DeclaredSchedule] = {}

    @overload
    def task(self, factory: F) -> F: ...

    @overload
    def task(self, factory: None = None, *, name: str = "", description: str = "") -> Callable[[F], F]: ...

    def task(self, factory: F | None = None, *, name: str = "", description: str = "") -> F | Callable[[F], F]:
        """Decorate a factory; its task is known by `name`, or the function's name.

        `description` tells callers what the task does; without one, the first paragraph of the function's docstring.
        Raises `ApplicationError` for a name that another task has.
        """

        def register(function: F) -> F:
            key = name or function.__name__
            if key in self._factories:
                raise ApplicationError(f"application {self.name!r} has two tasks named {key!r}; rename one")
            self._factories[key] = function
            self._descriptions[key] = description or _first_paragraph(function)
            return function

        return register(factory) if factory is not None else register

    def schedule(
        self,
        task: str | None = None,
        *,
        message: str,
        cron: str | None = None,
        every: float | timedelta | None = None,
        at: datetime | str | None = None,
        timezone: str = "UTC",
        name: str | None = None,
        tenant: str = "default",
        catch_up: CatchUp = "last",
        catch_up_limit: int = 10,
        overlap: OverlapPolicy = "skip",
        jitter: float = 0.0,
        start_at: datetime | str | None = None,
        end_at: datetime | str | None = None,
        session_id: str | None = None,
        priority: int = 0,
        tags: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        max_cost: Decimal | str | None = None,
        max_tokens: int | None = None,
        turns: int | None = None,
        deadline: float | None = None,
        on_limit: Literal["end", "wait"] | None = None,
        can_wait: float | None = None,
    ) -> Callable[[F], F]:
        """Have servers submit `message` to a task on a schedule: a line of `cron`, `every` so often, or once, `at`.

        Decorates the factory of the task, above `@app.task`, or names the `task`. Durations are seconds; times may
        be texts as ISO 8601 has them, and those without an offset are of the wall clock in `timezone`. A task has
        several schedules if each has a `name`. The page about schedules explains the rest. Raises
        `InvalidScheduleError`, and `ApplicationError` for a name that is taken or a factory that is no task.
        """
        # Imported here: only code that declares a schedule needs its rules.
        from turnwise.api.schedule_run import declared_run
        from turnwise.schedules.catching_up import CatchUpPolicy
        from turnwise.schedules.declared import DeclaredSchedule, seconds_of
        from turnwise.schedules.timing import Timing

        chosen = given(
            session_id=session_id,
            metadata=metadata,
            max_cost=max_cost,
            max_tokens=max_tokens,
            turns=turns,
            deadline=deadline,
            on_limit=on_limit,
            can_wait=can_wait,
        )
        settings = {"message": message, "priority": priority, "tags": list(tags), **chosen}

        def declare(key: str) -> None:
            run = declared_run(name or key, settings)
            timing = Timing(
                cron=cron,
                every=every.total_seconds() if isinstance(every, timedelta) else every,
                at=seconds_of(at, timezone, "at"),
                timezone=timezone,
                start_at=seconds_of(start_at, timezone, "start_at"),
                end_at=seconds_of(end_at, timezone, "end_at"),
                jitter=jitter,
            )
            made = DeclaredSchedule(
                tenant=tenant,
                name=name or key,
                task=key,
                timing=timing,
                catch_up=CatchUpPolicy(kind=catch_up, limit=catch_up_limit),
                overlap=overlap,
                run=run,
            )
            if self._schedules.setdefault((tenant, made.name), made) is not made:
                raise ApplicationError(
                    f"application {self.name!r} has two schedules named {made.name!r}; give one another name"
                )

        def of_factory(function: F) -> F:
            if task is None:
                declare(self._name_of(function))
            return function

        if task is not None:
            declare(task)
        return of_factory

    @property
    def schedules(self) -> list[DeclaredSchedule]:
        """The schedules that this code declares."""
        return list(self._schedules.values())

    def _name_of(self, factory: Factory) -> str:
        for key, known in self._factories.items():
            if known is factory:
                return key
        raise ApplicationError(
            f"{getattr(factory, '__name__', factory)!r} is no task of application {self.name!r}; put @app.schedule "
            "above @app.task, or name the task: app.schedule(task, ...)"
        )

    @property
    def tasks(self) -> list[str]:
        """Names of the tasks, in the order in which they were declared."""
        return list(self._factories)

    def description(self, name: str) -> str:
        """Return what the application says about the task; empty where it says nothing."""
        return self._descriptions.get(name, "")

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
        for schedule in self.schedules:
            if schedule.task not in self._factories:
                known = ", ".join(self.tasks)
                raise ApplicationError(
                    f"the schedule {schedule.name!r} is for the task {schedule.task!r}, which application "
                    f"{self.name!r} does not have; it has: {known}"
                )


def _first_paragraph(function: Factory) -> str:
    text = inspect.getdoc(function) if inspect.isroutine(function) else None
    return " ".join((text or "").partition("\n\n")[0].split())


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
    except StopRequested:
        raise
    except (Exception, SystemExit) as error:  # a module may be a script that exits
        raise ApplicationError(f"module {module_name!r} fails to load: {type(error).__name__}: {error}") from error
    found = getattr(module, attribute or "app", None)
    if not isinstance(found, App):
        what = "nothing" if found is None else type(found).__name__
        raise ApplicationError(f"{target!r} names {what}; expected a turnwise.App, as package.module:app")
    found.check()
    return found
