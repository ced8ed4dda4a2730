"""One installation for all tests: a coordinator and a slow model; each test starts workers of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bench.installation import Installation, installation
from tests.support.brokers import BrokerMissing
from tests.support.databases import NoPostgresError
from tests.support.services import missing


@pytest.fixture(scope="package")
def installed() -> Iterator[Installation]:
    """Without workers."""
    try:
        with installation() as made:
            yield made
    except (BrokerMissing, NoPostgresError) as error:
        missing(str(error))
