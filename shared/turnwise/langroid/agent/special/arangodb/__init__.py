"""Names of `langroid.agent.special.arangodb`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from turnwise.porting.modules import lend

__getattr__, __dir__ = lend(__name__)
