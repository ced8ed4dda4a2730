"""A second server cannot have the port or the file of the first, and says so."""

from __future__ import annotations

import re
from pathlib import Path

from tests.e2e.installation import Distributed, Embedded
from tests.e2e.processes import environment, run_command
from tests.e2e.refusals import refusal, settings


def test_a_port_that_another_server_has(embedded: Embedded, tmp_path: Path) -> None:
    taken = embedded.url.removeprefix("http://")
    assert re.search(f"{taken} is in use", refusal(run_command(["up"], settings(tmp_path, bind=taken), tmp_path)))


def test_a_gateway_on_a_port_that_another_one_has(distributed: Distributed, tmp_path: Path) -> None:
    taken = distributed.url.removeprefix("http://")
    env = environment(**distributed.settings, bind=taken)
    assert f"{taken} is in use" in refusal(run_command(["gateway"], env, tmp_path))


def test_a_second_embedded_server_on_the_same_file(embedded: Embedded, tmp_path: Path) -> None:
    said = refusal(run_command(["up"], settings(tmp_path, database_url=embedded.database), tmp_path))
    assert "turnwise.db" in said
    assert embedded.process.page("/health/ready")
