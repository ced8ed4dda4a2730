"""Rules for all tests: on a build server a missing service is a failure, elsewhere a skip."""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.compiled_statements import share_compiled_statements
from tests.support.databases import fresh_sqlite
from tests.support.services import on_build_server, refused_skip

from turnwise.observability import redaction
from turnwise.record.store import Store

pytest_plugins = ["turnwise.testing.plugin"]

share_compiled_statements()

# Folders whose files go to one process together: each process that had some would start installations of its own.
_TOGETHER = ("tests/e2e/one_installation",)


def pytest_configure() -> None:
    """Hear interrupts, which a shell lets its background jobs ignore: those tests would wait until their time is up."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """Schedule by file, and folders of `_TOGETHER` as if each were one file; only for `--dist loadfile`."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            folder = next((folder for folder in _TOGETHER if nodeid.startswith(f"{folder}/")), None)
            return folder or str(super()._split_scope(nodeid))

    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are no garbage, and are not looked through again and again: a tenth of the time went there."""
    gc.disable()
    found = yield
    gc.enable()
    gc.freeze()
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Set apart what a file's tests leave alive: late in a session each look through all of it took seconds."""
    result = yield
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a test, or of a fixture it uses, into a failure."""
    report = yield
    if on_build_server() and (failure := refused_skip(report.outcome, report.longrepr)):
        report.outcome, report.longrepr = "failed", failure
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself while it is collected."""
    report = yield
    if on_build_server() and (failure := refused_skip(report.outcome, report.longrepr)):
        report.outcome, report.longrepr = "failed", failure
    return report


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A record of its own in a SQLite file, which is also that of a `terminal`."""
    database = fresh_sqlite(tmp_path / "turnwise.db")
    yield Store(database)
    database.close()


@pytest.fixture(autouse=True)
def _forget_secrets() -> Iterator[None]:
    """Leave what a test told the process to hide in that test: a later one may expect such a word in a text."""
    known = redaction._known
    before = vars(known).copy()
    yield
    vars(known).update(before)
