"""Log lines about a message whose work an outage prevented."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from turnwise.errors import EnvironmentFault

logger = logging.getLogger(__name__)


@contextmanager
def left_to_a_sweep(kind: str) -> Iterator[None]:
    """Around the work on a message of that `kind`: a database or broker that is away is told in one line, and no more.

    Nothing is lost: the message was a wake-up, and sweeps find what no one works on. An outage stops every message in
    hand at once, and a traceback of each would say nothing that the error does not, and keep in memory for ever the
    source of every file that it names (`linecache`). Any other error is raised.
    """
    try:
        yield
    except EnvironmentFault as error:
        logger.warning("A message of kind %s is left to a sweep: %s", kind, error, extra={"action": "work_left"})
