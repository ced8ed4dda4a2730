"""The program that is started on this machine for one service."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


def _nothing() -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Program:
    """A command with all of its environment; `answers` says whether it can work (None: nobody asks), and may block."""

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    user: str | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    answers: Callable[[], bool] | None = None
    clean_up: Callable[[], None] = _nothing
