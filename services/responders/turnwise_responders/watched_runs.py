"""The runs whose text is wanted now, as gateways announce them."""

from __future__ import annotations

from turnwise.base.clock import Clock
from turnwise.bus.envelope import Announcement, TextWatchNotice, WatchNotice
from turnwise.serving.watches import Watches


class WatchedRuns:
    """The listeners to the text of runs. Safe to use from many threads."""

    def __init__(self, clock: Clock) -> None:
        self._texts = Watches(clock)
        # The same for runs whose text is wanted of every model, by whichever listener.
        self._eager = Watches(clock)

    def heard(self, notice: Announcement) -> None:
        """Take down an announcement; one of a listener that wants no text is passed over."""
        if isinstance(notice, (WatchNotice, TextWatchNotice)):
            self._texts.heard(notice)
        if isinstance(notice, TextWatchNotice):
            self._eager.heard(notice)

    def listeners(self, run: str) -> tuple[str, ...]:
        """Addresses of the listeners that want the run's text."""
        return self._texts.listeners(run)

    def text_wanted(self, run: str) -> bool:
        """Return whether the run's text is wanted also of models whose settings leave open whether they stream."""
        return bool(self._eager.listeners(run))
