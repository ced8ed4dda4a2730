"""Every file of values in the chart's `ci` folder, rendered once for all tests."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from tests.chart.engine import CHART, Engine, Release, find_engine, render, secrets_as_driver

NAMES = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").glob("*-values.yaml"))


def values_of(name: str) -> dict[str, Any]:
    """The values in the file of this name."""
    found: dict[str, Any] = yaml.safe_load((CHART / "ci" / f"{name}-values.yaml").read_text())
    return found


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """Helm; skips where there is none."""
    with secrets_as_driver():
        yield find_engine()


@pytest.fixture(scope="session")
def rendered(engine: Engine) -> Callable[[str], Release]:
    """The release that a file of values makes."""
    return functools.cache(lambda name: render(engine, values_of(name)))


@pytest.fixture(params=NAMES)
def release(request: pytest.FixtureRequest, rendered: Callable[[str], Release]) -> Release:
    """The release of each file of values, one after another."""
    return rendered(request.param)
