"""Matters of display and defaults of this process; no rule of a task depends on them but `max_turns`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar

from turnwise.base.configuration import Configuration
from turnwise.base.contextual import Bound
from turnwise.base.copies import copied_model


class Settings(Configuration):
    """Settings of all runs of this process; read when a run starts.

    - `max_turns`: steps after which any task ends with MAX_TURNS (0: never).
    - `quiet`: show nothing on a terminal of a run's messages, or of how far a batch is.

    Raises `ConfigurationError` for a setting that does not exist.
    """

    _instead: ClassVar[Mapping[str, str]] = {
        "cache": "answers of models are not kept",
        "debug": "what happens in a run is in its logs: set `TaskConfig(logs_dir=...)`, or override `Task.log_message`",
        "interactive": "whether a human is asked is a matter of the task: `Task(interactive=...)`",
        "stream": "whether answers are streamed is a matter of the model: `LLMConfig(stream=...)`",
    }

    max_turns: int = 0
    quiet: bool = False


_current: ContextVar[Settings | None] = ContextVar("turnwise_settings", default=None)
_global = Settings()


class _SettingsView:
    """The settings in force: those of the enclosing `temporary_settings`, or the process's."""

    def __getattr__(self, name: str) -> object:
        return getattr(current_settings(), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(current_settings(), name, value)


settings = _SettingsView()


def current_settings() -> Settings:
    """The settings in force here."""
    return _current.get() or _global


def set_global(key_vals: Settings) -> None:
    """Take over the fields of `key_vals` that were set, for the whole process."""
    for name in key_vals.model_fields_set:
        setattr(_global, name, getattr(key_vals, name))


@contextmanager
def temporary_settings(temp_settings: Settings) -> Iterator[None]:
    """Use `temp_settings` within the block, in this thread or task only."""
    token = _current.set(temp_settings)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def quiet_mode(quiet: bool = True) -> Iterator[None]:
    """Show nothing within the block."""
    with quietly(quiet=quiet):
        yield


def quietly(*, quiet: bool = True) -> Bound[Settings | None]:
    """The same as `quiet_mode`, in fewer calls: it is around each answer of a server."""
    mine = copied_model(current_settings())
    # Not as a program sets it: no name needs a check.
    vars(mine)["quiet"] = quiet
    mine.model_fields_set.add("quiet")
    return Bound(_current, mine)
