"""Plays every scenario in this process and prints the ids of those that fail, as JSON."""

from __future__ import annotations

import json
import sys

from tests.golden.compare import compare
from tests.golden.model import load_all
from tests.golden.player import play
from tests.rules import show
from tests.rules.catalogue import scenarios


def failing() -> dict[str, list[str]]:
    """Ids of the own and of the recorded scenarios that do not go as they should."""
    own = [each.id for each in scenarios() if not show.as_written(each)]
    recorded = [each.id for each in load_all() if compare(play(each), each.golden) is not None]
    return {"own": own, "recorded": recorded}


if __name__ == "__main__":
    json.dump(failing(), sys.stdout)
