"""The words that a schedule has for its policies; the models of the API have them without the rest of this room."""

from __future__ import annotations

from typing import Literal, get_args

# Ticks that were missed. skip: they do not happen. last: the last one does. all: all do, the newest of them.
CatchUp = Literal["skip", "last", "all"]
# A tick of a schedule whose last run has not ended. skip: it does not happen. queue: it waits. cancel: it waits, and
# the run is cancelled. allow: it happens all the same.
OverlapPolicy = Literal["skip", "queue", "cancel", "allow"]

CATCH_UPS: tuple[CatchUp, ...] = get_args(CatchUp)
OVERLAP_POLICIES: tuple[OverlapPolicy, ...] = get_args(OverlapPolicy)
