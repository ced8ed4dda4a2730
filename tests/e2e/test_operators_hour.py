"""The page "An operator's hour", followed literally: real processes, in a database and a virtual host of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql
from tests.e2e.processes import environment, free_port
from tests.support.brokers import AMQP_URL
from tests.support.services import require

PAGE = Path(__file__).parents[2] / "docs" / "operators-hour.md"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_TOOLS = ("rabbitmqctl", "psql", "pg_dump", "pg_restore", "jq", "curl")
_END = "end of the command"
_PATIENCE = 100.0
# What differs from one time to the next, and what stands for it.
_CHANGING = (
    (re.compile(r"\b(run|key|wkr)_\w+"), r"\1_ID"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|min)\b"), "SECONDS"),
    (re.compile(r"\b\d+(\.\d+)? %"), "SHARE"),
    (re.compile(r"^\d+@[\w.-]+"), "PROCESS"),
    (re.compile(r"\b\d+(\.\d+)?[sm]\b"), "AGE"),
    (re.compile(r"\bpid \d+|\bWorker \d+ on [\w.-]+"), "PROCESS"),
    (re.compile(r"with [\w.-]+ \(PROCESS\)"), "with WORKER"),
    (re.compile(r"[x░▓█mwrp]{3,}$"), "BAR"),
    (re.compile(r"\+SECONDS"), "SECONDS"),
    (re.compile(r"\d+ checks"), "CHECKS"),
    (re.compile(r"\s+"), " "),
)

pytestmark = [pytest.mark.postgres, pytest.mark.rabbitmq, pytest.mark.timeout(600)]


class Shell:
    """One shell, in which commands are typed one after the other."""

    def __init__(self, folder: Path) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self._bash = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            cwd=folder,
            env={**environment(), "PATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, command: str) -> list[str]:
        """Run the command; return its output line by line, without the shell's notes on killed jobs."""
        assert self._bash.stdin is not None and self._bash.stdout is not None
        # rabbitmqctl reads its standard input, which are the next commands.
        self._bash.stdin.write(f"{{\n{command}\n}} < /dev/null\necho; echo {_END}\n")
        self._bash.stdin.flush()
        too_late = Timer(_PATIENCE, self._end)
        too_late.start()
        lines: list[str] = []
        for line in self._bash.stdout:
            if line.rstrip() == _END:
                too_late.cancel()
                return [one for one in lines if one and not re.match(r"bash: line \d+: +\d+ (Killed|Terminated)", one)]
            lines.append(line.rstrip())
        raise AssertionError("\n".join([f"the shell ended, or this took longer than {_PATIENCE} s: {command}", *lines]))

    def close(self) -> None:
        """End it, and what it has started."""
        self._end()
        self._bash.wait()
        for pipe in (self._bash.stdin, self._bash.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()

    def _end(self) -> None:
        """Kill its whole session, in which nothing else is."""
        with suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGKILL)


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Every command of the page's console blocks, with the lines that it prints."""
    for kind, block in _FENCE.findall(text):
        if kind == "console":
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, *printed = part.rstrip("\n").split("\n")
                yield command, printed


def likeness(printed: list[str]) -> str:
    """Return the page's output as an expression; … stands for anything, and alone for any lines."""
    lines = []
    for line in printed:
        if line == "…":
            lines.append("(?:[^\n]*\n)*?")
        else:
            pieces = [re.escape(piece) for piece in plain(line).split("…")]
            lines.append("[^\n]*".join(pieces) + "\n")
    return "".join(lines)


def plain(line: str) -> str:
    """The line without what changes."""
    for pattern, instead in _CHANGING:
        line = pattern.sub(instead, line.rstrip())
    return line


@contextmanager
def cleared(name: str, database: str) -> Iterator[None]:
    """Leave neither the database nor the virtual host behind."""
    try:
        yield
    finally:
        with psycopg.connect(database, dbname="postgres", autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
        subprocess.run(["rabbitmqctl", "-q", "delete_vhost", name], check=False, capture_output=True, timeout=60)


def test_every_command_of_the_page_prints_what_the_page_says(tmp_path: Path) -> None:
    absent = [tool for tool in _TOOLS if shutil.which(tool) is None]
    require(not absent, f"not on the path: {', '.join(absent)}")
    server = os.environ.get("TURNWISE_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")
    require(urlsplit(AMQP_URL).username == "guest", "the page's RabbitMQ has the user guest")
    name = f"turnwise_hour_{uuid.uuid4().hex[:8]}"
    text = PAGE.read_text().replace("turnwise_hour", name).replace("127.0.0.1:8080", f"127.0.0.1:{free_port()}")
    text = text.replace("postgresql://postgres@127.0.0.1:5432", server.rpartition("/")[0])
    text = text.replace("amqp://guest:guest@127.0.0.1:5672", AMQP_URL.rstrip("/"))
    for kind, file in (("python", "shop.py"), ("bash", "hour.env")):
        (tmp_path / file).write_text(next(block for found, block in _FENCE.findall(text) if found == kind))

    with cleared(name, server):
        shell = Shell(tmp_path)
        try:
            for command, printed in commands(text):
                print("$", command)
                lines = shell.run(command)
                print(*lines, sep="\n")  # which a test that fails shows
                found = "".join(f"{plain(line)}\n" for line in lines)
                assert re.fullmatch(likeness(printed), found), f"{command}\nprints:\n{found}\nexpected like:\n" + (
                    "\n".join(plain(line) for line in printed)
                )
        finally:
            shell.close()
