"""Settings of a task that rarely change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from turnwise.base.configuration import Configuration
from turnwise.machine.sequences import DoneSequence


class TaskConfig(Configuration):
    """Settings of a task that are not arguments of `Task`.

    - `inf_loop_cycle_len`: the longest loop that is looked for (0: none), checked every so many steps once
      `inf_loop_wait_factor` times as many messages were taken; its messages must be `inf_loop_dominance_factor` times
      as frequent as the rest.
    - `restart_as_subtask`: begin afresh at each call of a caller.
    - `addressing_prefix`: text such as "|@|" before a name addresses it; "" for none.
    - `allow_subtask_multi_oai_tools=False`: a sub-task is not asked to answer several API calls at once.
    - `recognize_string_signals`: read DONE, PASS and SEND in texts.
    - `done_if_tool`: any known tool ends the task.
    - `done_sequences`: events in a row that end the task, such as `"T, A"`; see `DoneSequence`.
    - `can_wait`: seconds that calls of its agent's model may wait in a served run, for instance 86,400 for a day. They
      are collected for a batch of the model's provider, at half the price. 0: they are made at once. None: as its
      caller's, and at once for a root.
    - `logs_dir`: a folder for the logs of runs in this process, None for none. A root's runs are written there,
      sub-tasks included, as `<task>.log` (coloured text), `<task>.tsv` and `<task>.html`; an older run's files are kept
      as `<task>.1.log` and so on. `enable_loggers=False` writes none of them, `enable_html_logging=False` no page.
    """

    _instead: ClassVar[Mapping[str, str]] = {"restart_subtask_run": "it is called 'restart_as_subtask'"}

    inf_loop_cycle_len: int = Field(default=10, ge=0)
    inf_loop_dominance_factor: float = 1.5
    inf_loop_wait_factor: int = Field(default=5, ge=1)
    restart_as_subtask: bool = False
    addressing_prefix: str = ""
    allow_subtask_multi_oai_tools: bool = True
    recognize_string_signals: bool = True
    done_if_tool: bool = False
    done_sequences: list[str | DoneSequence] | None = None
    can_wait: float | None = Field(default=None, ge=0)
    logs_dir: str | None = None
    enable_loggers: bool = True
    enable_html_logging: bool = True
