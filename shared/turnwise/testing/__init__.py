"""What tests of agents need: scripted models, a simulator of everything that can go wrong, a checker of records.

- `MockLMConfig`, `MockLM`: a model that answers with what a program says.
- `Simulator`, `Scenario`, `Conversation`, `Faults`: an application in an installation in which things go wrong.
- `check`, `History`, `Violation`: what a record of runs promises, and whether it keeps it.
- `turnwise.testing.plugin`: the fixture `simulate` for pytest.

The simulator needs the services: `pip install 'turnwise[all]'`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnwise.llm.mock import MockLM, MockLMConfig
    from turnwise.testing.clients import Conversation
    from turnwise.testing.faults import QUIET, Faults, chosen
    from turnwise.testing.history import History
    from turnwise.testing.promises import Violation, check
    from turnwise.testing.simulation import Outcome
    from turnwise.testing.simulator import Report, Scenario, SimulationFailed, Simulator

# Where each name is; what is not asked for is not imported.
_PLACES = {
    "Conversation": "turnwise.testing.clients",
    "Faults": "turnwise.testing.faults",
    "History": "turnwise.testing.history",
    "MockLM": "turnwise.llm.mock",
    "MockLMConfig": "turnwise.llm.mock",
    "Outcome": "turnwise.testing.simulation",
    "QUIET": "turnwise.testing.faults",
    "Report": "turnwise.testing.simulator",
    "Scenario": "turnwise.testing.simulator",
    "SimulationFailed": "turnwise.testing.simulator",
    "Simulator": "turnwise.testing.simulator",
    "Violation": "turnwise.testing.promises",
    "check": "turnwise.testing.promises",
    "chosen": "turnwise.testing.faults",
}

__all__ = [
    "QUIET",
    "Conversation",
    "Faults",
    "History",
    "MockLM",
    "MockLMConfig",
    "Outcome",
    "Report",
    "Scenario",
    "SimulationFailed",
    "Simulator",
    "Violation",
    "check",
    "chosen",
]


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(place), name)
