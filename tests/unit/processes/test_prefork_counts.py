"""A worker that starts shows no count of a process that is gone, however it is started and whatever a volume keeps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from turnwise.errors import ConfigurationError, TurnwiseError
from turnwise.processes.metrics.multiprocess import ChildrenCollector, clear_counts
from turnwise.processes.settings import load_settings
from turnwise_responders import service

CHILD = """
from prometheus_client import CollectorRegistry
from turnwise.processes.metrics import Metrics
metrics = Metrics(CollectorRegistry())
metrics.leases_expired_total.inc(3)
metrics.registry_gauge = metrics._gauge("busy", "Of the test.")
metrics.registry_gauge.set(7)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of PROMETHEUS_MULTIPROC_DIR, which nobody has made."""
    folder = tmp_path / "made" / "metrics"
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(folder))
    return folder


def count_in_a_child(folder: Path) -> None:
    """A process that counts there, and ends."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-c", CHILD], env=os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(folder)}, check=True
    )


def test_files_of_processes_that_are_gone_are_removed_and_no_others(folder: Path) -> None:
    count_in_a_child(folder)
    own, other, living = f"counter_{os.getpid()}.db", "notes.db", f"counter_{os.getppid()}.db"
    for name in (own, other, living):
        (folder / name).touch()

    clear_counts()

    assert {file.name for file in folder.iterdir()} == {other, living}


def test_the_folder_is_made_and_one_that_cannot_be_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clear_counts()
    assert folder.is_dir()

    (folder / "file").touch()
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(folder / "file" / "below"))
    with pytest.raises(ConfigurationError, match=r"PROMETHEUS_MULTIPROC_DIR is .*below"):
        clear_counts()


def test_both_ways_to_start_a_worker_remove_what_a_container_before_it_left(folder: Path) -> None:
    settings = load_settings(database_url="postgresql://nobody@127.0.0.1:1/none", broker_url="amqp://127.0.0.1:1")
    count_in_a_child(folder)
    service.build(settings)
    assert not list(folder.iterdir())

    count_in_a_child(folder)
    with pytest.raises(TurnwiseError):  # it got so far: nothing answers there
        service.run(settings)
    assert not list(folder.iterdir())


def test_a_child_that_is_gone_keeps_its_counts_and_loses_its_gauges(folder: Path) -> None:
    count_in_a_child(folder)
    registry = CollectorRegistry()
    ChildrenCollector(registry, folder)

    text = generate_latest(registry).decode()

    assert "turnwise_leases_expired_total 3.0" in text
    assert "turnwise_busy" not in text
