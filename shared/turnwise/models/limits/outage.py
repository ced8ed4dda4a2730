"""A provider that does not answer: who may probe whether it is back, and when.

- One run whose calls fail says nothing of the others: it waits by itself. Only when calls of two runs fail, with no
  answer between them, is the provider taken to be away, and no one else calls it. Calls under way together that fail in
  one moment count as one.
- Then one call at a time probes whether it is back: that of the first in line, after a wait that doubles with each
  probe. A run whose probe fails twice in a row lets the others probe, because it may be its request that the provider
  cannot answer. A new ask may probe, too, every few seconds.
- The first answer, of whatever kind, lets everybody continue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

# Seconds that a probe may take before another one begins.
PROBE_SECONDS = 30.0
# Seconds between the probes of new asks.
_NEW_ASK = 15.0
# Failures further apart than this have nothing to do with each other.
_MEMORY = 60.0
# Calls that were under way together and fail within so many seconds may have met one short fault: a proxy that was
# started anew, say. A provider that is silent is met by calls that time out one after the other.
_ONE_FAULT = 1.0
# From so many failed probes on, those that wait by a time of their own are woken at the end.
_LONG = 3
_KIND = "outage"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outage:
    """The failed calls of a provider: `probes` that failed since the provider is taken to be away (0: it is not).

    `run` is whose call failed last, `until` when that counted for the last time, `new_at` when a new ask probed last.
    """

    probes: int = 0
    run: str = ""
    until: float = 0.0
    new_at: float = 0.0

    @property
    def away(self) -> bool:
        """Return whether the provider counts as away, so that only probes may call."""
        return self.probes > 0

    @property
    def long(self) -> bool:
        """Return whether the outage lasts so long that some runs wait for minutes."""
        return self.probes >= _LONG

    def failed(
        self, run: str, now: float, wait: float, *, began: float | None = None, answered: float | None = None
    ) -> Outage | None:
        """After a failed call of that run; None if it says nothing new of the provider.

        `wait` is how long no one probes now, `began` when the call began (None: just now), and `answered` when whoever
        made it last saw the provider answer a call.
        """
        began = now if began is None else began
        if not self.away and self._apart(began, answered):
            return Outage(run=run, until=now)
        if self.run == run or (not self.away and began < self.until and now < self.until + _ONE_FAULT):
            return None
        return replace(self, probes=self.probes + 1, run=run, until=now + wait)

    def _apart(self, began: float, answered: float | None) -> bool:
        """Return whether a failure is unrelated to the last one."""
        return not self.run or began > self.until + _MEMORY or (answered is not None and answered > self.until)

    def may_probe(self, now: float) -> bool:
        """Return whether a new ask may probe the provider."""
        return now >= self.new_at + _NEW_ASK

    def probed(self, now: float) -> Outage:
        """A new ask probes now."""
        return replace(self, new_at=now)

    def dump(self) -> str:
        """Return it as text, which begins with a word that tells it from limits."""
        return f"{_KIND} {self.probes} {self.until:.3f} {self.new_at:.3f} {self.run}"

    @classmethod
    def load(cls, text: str | None) -> Outage | None:
        """Read what `dump` wrote; None for another text, or none."""
        if text is None or not text.startswith(_KIND):
            return None
        _, probes, until, new_at, run = text.split(" ", 4)
        return cls(probes=int(probes), until=float(until), new_at=float(new_at), run=run)
