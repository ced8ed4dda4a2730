"""The used part of a provider's limits, and the time when there is room for another call.

Providers count differently: some over fixed minutes, some over the last sixty seconds, some by a bucket that fills up
again. What keeps to the limit in every window, wherever it begins, keeps to all of them. So calls are counted over the
last window, in slices; a slice counts until its end has left the window, and a little longer, because a call arrives
later than it was allowed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from turnwise.errors.rate_limits import Quota, RateLimits

# "outage" is none of the provider's: it does not answer, see `outage.py`.
LimitKind = Literal["requests", "tokens", "concurrency", "outage"]

# A slice's share of the window; as much again is the margin for calls that arrive late.
_SLICES = 60
# For so long a provider is left alone that said 429, and not for how long.
_PAUSE = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Caps:
    """The limits of one model and key: requests and tokens in `window` seconds, calls at once; None for no limit."""

    requests: int | None = None
    tokens: int | None = None
    concurrency: int | None = None
    window: float = 60.0

    @property
    def any(self) -> bool:
        """Return whether there is a limit."""
        return not (self.requests is None and self.tokens is None and self.concurrency is None)

    def over(self, other: Caps) -> Caps:
        """Return these limits, and those of `other` where these have none."""
        return Caps(
            requests=other.requests if self.requests is None else self.requests,
            tokens=other.tokens if self.tokens is None else self.tokens,
            concurrency=other.concurrency if self.concurrency is None else self.concurrency,
            window=self.window,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """The calls that were allowed in a short time from `start` on."""

    start: float
    requests: int
    tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Foreign:
    """The use of the same limits by others, by the provider's announcement to a call made `at`."""

    at: float = 0.0
    requests: int = 0
    requests_until: float = 0.0
    tokens: int = 0
    tokens_until: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """The time when there is room for a call, and the limit that it waits for until then (None: there is room at
    once).
    """

    at: float
    limit: LimitKind | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitPlace:
    """A call that was let through: when, the tokens it counts, and what of ours counted then, it included."""

    at: float
    tokens: int
    own_requests: int
    own_tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """The used part of the limits of one model and key; `learned` are limits that the provider announced.

    Times are seconds of whatever clock the caller has. No one is let through before `closed_until`.
    """

    slices: tuple[Slice, ...] = ()
    foreign: Foreign = field(default_factory=Foreign)
    closed_until: float = 0.0
    learned_requests: int | None = None
    learned_tokens: int | None = None

    def caps(self, configured: Caps) -> Caps:
        """The limits that hold: what is configured, else what was announced."""
        return configured.over(Caps(requests=self.learned_requests, tokens=self.learned_tokens))

    def room(self, caps: Caps, tokens: int, now: float) -> Room:
        """Return when a call of so many tokens has room; one above the limit by itself, when nothing else counts."""
        at = max(now, self.closed_until)
        limit: LimitKind | None = "requests" if at > now else None
        if caps.requests is not None:
            free = self._free("requests", caps.requests - 1, caps, at)
            at, limit = (free, "requests") if free > at else (at, limit)
        if caps.tokens is not None:
            free = self._free("tokens", caps.tokens - min(tokens, caps.tokens), caps, at)
            at, limit = (free, "tokens") if free > at else (at, limit)
        return Room(at=at, limit=limit)

    def places(self, caps: Caps, now: float) -> int | None:
        """Return how many requests have room at once, as far as their number is limited; None if it is not."""
        if now < self.closed_until:
            return 0
        if caps.requests is None:
            return None
        used = self.used("requests", caps, now)
        return max(0, caps.requests - used)

    def used(self, what: Literal["requests", "tokens"], caps: Caps, at: float) -> int:
        """Return how many requests or tokens count at that time, those of others included."""
        foreign = getattr(self.foreign, what) if getattr(self.foreign, f"{what}_until") > at else 0
        return int(foreign + sum(getattr(piece, what) for piece in self.slices if _expiry(piece, caps) > at))

    def take(self, caps: Caps, tokens: int, at: float) -> tuple[Window, LimitPlace]:
        """Count a call from `at` on, which should be when it has room."""
        counted = self._add(caps, at, 1, tokens)
        own = [piece for piece in counted.slices if _expiry(piece, caps) > at]
        place = LimitPlace(
            at=at,
            tokens=tokens,
            own_requests=sum(piece.requests for piece in own),
            own_tokens=sum(piece.tokens for piece in own),
        )
        return counted, place

    def settle(self, caps: Caps, place: LimitPlace, tokens: int) -> Window:
        """The call used so many tokens."""
        return self._change(caps, place.at, 0, tokens - place.tokens)

    def release(self, caps: Caps, place: LimitPlace) -> Window:
        """The call was not made."""
        return self._change(caps, place.at, -1, -place.tokens)

    def announced(self, limits: RateLimits, place: LimitPlace) -> Window:
        """Learn from what came with an answer to the call: the limits, and what others used of them."""
        learned = replace(
            self,
            learned_requests=limits.requests.limit if limits.requests else self.learned_requests,
            learned_tokens=limits.tokens.limit if limits.tokens else self.learned_tokens,
        )
        if place.at < self.foreign.at:  # an answer that took long tells of a time that is past
            return learned
        requests, requests_until = _others(limits.requests, place.own_requests, place.at)
        tokens, tokens_until = _others(limits.tokens, place.own_tokens, place.at)
        foreign = Foreign(
            at=place.at,
            requests=requests,
            requests_until=requests_until,
            tokens=tokens,
            tokens_until=tokens_until,
        )
        return replace(learned, foreign=foreign)

    def met(self, caps: Caps, limits: RateLimits, tokens: int, at: float) -> Window:
        """Learn from a call that was made before anything was known: what it used is ours, not another's.

        It counts from its answer on. What others use is not known as long as the window, so it could be forgotten
        when the answers to later calls come in another order than the calls.
        """
        counted, place = self.take(caps, tokens, at)
        return counted.announced(limits, place)

    def refused(self, limits: RateLimits | None, now: float) -> Window:
        """The provider said 429: no one is let through until it may have room again."""
        wait = limits.retry_after if limits is not None and limits.retry_after is not None else None
        if wait is None and limits is not None:
            empty = [
                q.reset for q in (limits.requests, limits.tokens) if q is not None and q.remaining == 0 and q.reset
            ]
            wait = max(empty, default=None)
        until = now + (_PAUSE if wait is None else wait)
        return replace(self, closed_until=max(self.closed_until, until))

    def dump(self) -> dict[str, Any]:
        """Return it as JSON."""
        body = asdict(self)
        body["slices"] = [[piece.start, piece.requests, piece.tokens] for piece in self.slices]
        return body

    @classmethod
    def load(cls, body: dict[str, Any]) -> Window:
        """Read what `dump` wrote."""
        slices = tuple(Slice(start=start, requests=n, tokens=tokens) for start, n, tokens in body["slices"])
        return cls(**(body | {"slices": slices, "foreign": Foreign(**body["foreign"])}))

    def _free(self, what: Literal["requests", "tokens"], room: int, caps: Caps, at: float) -> float:
        """Return when no more than `room` of `what` count."""
        ends = [(_expiry(piece, caps), getattr(piece, what)) for piece in self.slices]
        ends.append((getattr(self.foreign, f"{what}_until"), getattr(self.foreign, what)))
        used = sum(n for end, n in ends if end > at)
        for end, n in sorted(ends):
            if used <= room:
                break
            if end > at:
                at, used = end, used - n
        return at

    def _add(self, caps: Caps, at: float, requests: int, tokens: int) -> Window:
        width = caps.window / _SLICES
        start = at // width * width
        kept = [piece for piece in self.slices if _expiry(piece, caps) > at]
        same = next((piece for piece in kept if piece.start == start), None)
        if same is None:
            kept.append(Slice(start=start, requests=requests, tokens=tokens))
        else:
            added = replace(same, requests=same.requests + requests, tokens=same.tokens + tokens)
            kept[kept.index(same)] = added
        return replace(self, slices=tuple(kept))

    def _change(self, caps: Caps, at: float, requests: int, tokens: int) -> Window:
        start = at // (caps.window / _SLICES) * (caps.window / _SLICES)
        changed = tuple(
            replace(piece, requests=max(0, piece.requests + requests), tokens=max(0, piece.tokens + tokens))
            if piece.start == start
            else piece
            for piece in self.slices
        )
        return replace(self, slices=changed)


def _expiry(piece: Slice, caps: Caps) -> float:
    return piece.start + caps.window * (1 + 2 / _SLICES)


def _others(quota: Quota | None, own: int, at: float) -> tuple[int, float]:
    """Return what others have used of an announced limit, and when that is back."""
    if quota is None:
        return 0, 0.0
    return max(0, quota.limit - quota.remaining - own), at + quota.reset
