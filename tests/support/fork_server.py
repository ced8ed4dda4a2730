"""A process that has imported Turnwise, and forks at request: hundreds of processes need not import it.

It imports only: each process reads its environment, and does all else, by itself. Other tests start the commands as
their users do, without it. A request is JSON with `arguments`, `cwd` and `env`, beside three descriptors: those for
the output and the errors, and that to which the number of the process, then its exit code, are written.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

# Imports take three quarters of the start of a service.
_IMPORTED = (
    "alembic.config",
    "celery.app.base",
    "celery.apps.worker",
    "celery.bin.worker",
    "celery.concurrency.prefork",
    "celery.concurrency.thread",
    "docstring_parser",
    "fastapi",
    "filelock",
    "genai_prices",
    "http.server",
    "httpx2",
    "json_repair",
    "kombu.transport.pyamqp",
    "kombu.transport.redis",
    "limits",
    "openai",
    "psycopg",
    "pydantic.v1",
    "pydantic_settings",
    "rich.console",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite",
    "sqlite3",
    "structlog",
    "typer",
    "uvicorn",
    "yaml",
    "turnwise.cli.embedded",
    "turnwise.cli.signals",
    "turnwise_coordinator.service",
    "turnwise_gateway.service",
    "turnwise_responders.service",
)
MAX_REQUEST = 1 << 20
# A process that is sent this writes where its threads are to its errors.
TELL_THREADS = signal.SIGRTMIN
# Variables that differ from process to process, and those of them that libraries read when they are imported: a process
# that is given one of these is not forked (see `forked`).
VARIABLES = ("TURNWISE_", "OPENAI_", "OTEL_", "PROMETHEUS_")
READ_AT_IMPORT = (
    "OPENAI_API_TYPE",
    "OPENAI_API_VERSION",
    "OPENAI_LOG",
    "OTEL_PROPAGATORS",
    "OTEL_PYTHON_CONTEXT",
    "PROMETHEUS_",
)


def main() -> None:
    """Serve the requests of standard input, which is a socket; in a forked child, be the process that was asked for."""
    _import_all()
    gc.collect()
    gc.freeze()
    become = _serve(socket.socket(fileno=os.dup(0)))
    if become is not None:
        become()


def _import_all() -> None:
    read = []
    environment = type(os.environ)
    getitem = environment.__getitem__

    def noted(self: os._Environ[str], name: str) -> str:
        read.append(name)
        return getitem(self, name)

    environment.__getitem__ = noted  # type: ignore[method-assign]
    try:
        for module in _IMPORTED:
            importlib.import_module(module)
    finally:
        environment.__getitem__ = getitem  # type: ignore[method-assign]
    early = {name for name in read if name.startswith(VARIABLES) and not name.startswith(READ_AT_IMPORT)}
    assert not early, f"imports read {early}, so a forked process would have the values of this one"
    # A fork has only the thread that forks: one that an import starts would be missing.
    assert threading.active_count() == 1, threading.enumerate()


def _serve(requests: socket.socket) -> Callable[[], None] | None:
    """Fork for each request until the other side is gone; returns in the child, with what it is to run."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers need no one to wait for them
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST, 3)
        if not request:
            return None
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            return _keep(json.loads(request), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _keep(request: dict[str, Any], output: int, errors: int, status: int) -> Callable[[], None]:
    """Fork the process itself, and tell its number and how it ended; only the process returns."""
    pid = os.fork()
    if pid == 0:
        _set_up(request, output, errors)
        return _run
    os.close(output)
    os.close(errors)
    with contextlib.suppress(BrokenPipeError):  # nobody may be left to hear it
        os.write(status, f"{pid}\n".encode())
        _, ended = os.waitpid(pid, 0)
        os.write(status, f"{os.waitstatus_to_exitcode(ended)}\n".encode())
    os._exit(0)


def _set_up(request: dict[str, Any], output: int, errors: int) -> None:
    """Make this process as if it had just been started: its session, folder, files, environment and path."""
    # A session of its own: Linux shares the processor between sessions first.
    os.setsid()
    os.chdir(request["cwd"])
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = io.TextIOWrapper(open(descriptor, "wb", buffering=0, closefd=False), write_through=True)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    faulthandler.register(TELL_THREADS, file=2)
    os.environ.clear()
    os.environ.update(request["env"])
    ahead = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:0] = [request["cwd"], *ahead]
    sys.argv[1:] = request["arguments"]


def _run() -> None:
    runpy.run_module("turnwise.cli.main", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
