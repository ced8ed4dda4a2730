"""The sides that serve a program's tasks: a server in the program's process, or an installation."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

from tests.e2e.installation import ONE_WORKER, distributed_on
from tests.support.brokers import fresh_rabbitmq

from turnwise.testing.fake_llm.server import FakeLLMServer

from .captured import FILE
from .play import ROOT, Played, Side, prepare
from .program import Program
from .script import ScriptedModels

# A slow machine must not look like a dead worker, whose work another takes over: that would be another call of a model.
_LEASES = {"lease_seconds": "60"}
# The processes of an installation look for their models in this process's environment, so one starts at a time.
_starting = threading.Lock()
_BEFORE = ("-m", "tests.porting.served_program")


def served_side(python: str, directory: Path) -> Side:
    """Each task of a program is served by its process, from SQLite."""
    return Side(python=python, directory=directory, before=_BEFORE, paths=(ROOT,))


def played_distributed(directory: Path, program: Program) -> Played:
    """The program's first task is served by processes on PostgreSQL and RabbitMQ, which all ask the same models."""
    models = ScriptedModels(program.speakers)
    side = Side(python=sys.executable, directory=directory, before=_BEFORE, paths=(ROOT,))
    with tempfile.TemporaryDirectory() as place, FakeLLMServer(models) as server, ExitStack() as stack:
        folder = Path(place)
        prepare(folder, directory, program)
        (folder / FILE).write_text(program.model_dump_json(), "utf-8")
        models_at = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_BASE": server.base_url, "OPENAI_API_KEY": "none"}
        with _starting, mock.patch.dict(os.environ, models_at | program.environment):
            start = distributed_on(fresh_rabbitmq, folder, "tests.porting.captured:app", roles=ONE_WORKER, **_LEASES)
            installation = stack.enter_context(start)
        given = {"PORTING_URL": installation.url, "PORTING_DATABASE": installation.database}
        return side.play_at(server.base_url, models, program, given)
