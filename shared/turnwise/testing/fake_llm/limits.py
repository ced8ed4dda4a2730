"""Limits as a provider has them: requests and tokens in a time, and calls at once, for each model and API key."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

from pydantic import BaseModel, ConfigDict, Field

from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.wire import prompt_tokens

# Who a limit is counted for: the model, and the key that the request came with.
Customer = tuple[str, str]


class ServerLimits(BaseModel):
    """The limits of the server; None does not limit.

    `requests` and `tokens` are counted over the last `window` seconds, so that never more than that are let through in
    any window, wherever it begins. `concurrency` is calls at once.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    requests: int | None = Field(None, gt=0)
    tokens: int | None = Field(None, gt=0)
    concurrency: int | None = Field(None, gt=0)
    window: float = Field(60.0, gt=0)


@dataclass
class AdmittedCall:
    """A call that was let through: when, the tokens that it counts, and whether it still lies in the window."""

    at: float
    tokens: int
    counted: bool = True


@dataclass
class _Counts:
    """The calls of one customer within the window, and those being answered."""

    calls: deque[AdmittedCall] = field(default_factory=deque)
    tokens: int = 0
    in_flight: int = 0


@dataclass(frozen=True)
class Decision:
    """The decision on a call, and the headers that say how much is left."""

    call: AdmittedCall | None
    headers: dict[str, str]
    why: str = ""


class RequestLimiter:
    """Lets calls through within `limits`; safe to use from threads. `clock` gives seconds that never go back."""

    def __init__(self, limits: ServerLimits | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits or ServerLimits()
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: dict[Customer, _Counts] = {}

    def enter(self, customer: Customer, request: ChatRequest) -> Decision:
        """Let a call in, or say why not; a call that was let in has to `leave`.

        Until then it counts its prompt and as many tokens as it may be answered with.
        """
        limits, now = self._limits, self._clock()
        wanted = prompt_tokens(request) + (request.output_limit or 0)
        with self._lock:
            counts = self._counts.setdefault(customer, _Counts())
            self._forget(counts, now)
            if limits.concurrency is not None and counts.in_flight >= limits.concurrency:
                return self._refused(counts, now, 0.1, f"{limits.concurrency} calls at once")
            if limits.requests is not None and len(counts.calls) >= limits.requests:
                wait = counts.calls[-limits.requests].at + limits.window - now
                return self._refused(counts, now, wait, f"{limits.requests} requests in {limits.window:g} s")
            if limits.tokens is not None and counts.calls and counts.tokens + wanted > limits.tokens:
                wait = self._until_tokens(counts, wanted, now)
                return self._refused(counts, now, wait, f"{limits.tokens} tokens in {limits.window:g} s")
            call = AdmittedCall(now, wanted)
            counts.calls.append(call)
            counts.tokens += wanted
            counts.in_flight += 1
            return Decision(call, self._headers(counts, now))

    def leave(self, customer: Customer, call: AdmittedCall, tokens: int | None) -> None:
        """The call is answered, and counts `tokens` from now on (None: as many as before)."""
        with self._lock:
            counts = self._counts[customer]
            counts.in_flight -= 1
            if tokens is not None:
                if call.counted:
                    counts.tokens += tokens - call.tokens
                call.tokens = tokens

    def _forget(self, counts: _Counts, now: float) -> None:
        while counts.calls and counts.calls[0].at <= now - self._limits.window:
            call = counts.calls.popleft()
            call.counted = False
            counts.tokens -= call.tokens

    def _until_tokens(self, counts: _Counts, wanted: int, now: float) -> float:
        """Seconds until so many tokens have room; a call above the limit by itself waits until nothing else counts."""
        used, limit = counts.tokens, self._limits.tokens or 0
        for call in counts.calls:
            used -= call.tokens
            if used + wanted <= limit:
                return call.at + self._limits.window - now
        return counts.calls[-1].at + self._limits.window - now

    def _refused(self, counts: _Counts, now: float, wait: float, limit: str) -> Decision:
        wait = max(wait, 0.001)
        headers = self._headers(counts, now)
        headers |= {"retry-after": str(ceil(wait)), "retry-after-ms": str(ceil(wait * 1000))}
        return Decision(None, headers, f"rate limit reached: {limit}; try again in {_duration(wait)}")

    def _headers(self, counts: _Counts, now: float) -> dict[str, str]:
        limits, told = self._limits, {}
        reset = _duration(counts.calls[-1].at + limits.window - now) if counts.calls else "0s"
        for name, limit, used in (
            ("requests", limits.requests, len(counts.calls)),
            ("tokens", limits.tokens, counts.tokens),
        ):
            if limit is not None:
                told[f"x-ratelimit-limit-{name}"] = str(limit)
                told[f"x-ratelimit-remaining-{name}"] = str(max(0, limit - used))
                told[f"x-ratelimit-reset-{name}"] = reset
        return told


def _duration(seconds: float) -> str:
    """Return the duration as OpenAI writes it: `20ms`, `1s`, `6m0s`."""
    milliseconds = max(0, round(seconds * 1000))
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    minutes, rest = divmod(milliseconds / 1000, 60)
    return f"{int(minutes)}m{rest:g}s" if minutes else f"{rest:g}s"
