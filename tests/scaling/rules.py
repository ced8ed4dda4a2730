"""The decisions of a HorizontalPodAutoscaler and of KEDA, as functions of what they know and of the time.

Sources:
[HPA] https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/ (algorithm details;
      configurable scaling behavior), and pkg/controller/podautoscaler of Kubernetes for what "per period" means.
[KEDA] https://keda.sh/docs/latest/reference/scaledobject-spec/ (pollingInterval, cooldownPeriod, minReplicaCount) and
       https://keda.sh/docs/latest/concepts/scaling-deployments/ (activation and scaling phase).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# [HPA]: a ratio so near to 1 changes nothing.
TOLERANCE = 0.1


@dataclass(frozen=True, kw_only=True)
class Policy:
    """At most so many pods, or percent of those at the period's begin, in so many seconds."""

    kind: Literal["Pods", "Percent"]
    value: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Behavior:
    """One direction of `spec.behavior`; of several policies the one that allows most holds (`selectPolicy: Max`)."""

    stabilization: float
    policies: tuple[Policy, ...]


# [HPA], the defaults.
SCALE_UP = Behavior(
    stabilization=0, policies=(Policy(kind="Percent", value=100, seconds=15), Policy(kind="Pods", value=4, seconds=15))
)
SCALE_DOWN = Behavior(stabilization=300, policies=(Policy(kind="Percent", value=100, seconds=15),))


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules for one pool: `target` is the metric for each replica; times in seconds.

    `fewest` 0 is KEDA's alone, which then takes all replicas away `cooldown` after the metric was last above
    `activation`; its HPA keeps one.
    """

    target: float
    fewest: int = 1
    most: int = 10
    activation: float = 0.0
    polling: float = 30.0
    cooldown: float = 300.0
    up: Behavior = SCALE_UP
    down: Behavior = SCALE_DOWN


@dataclass(frozen=True)
class Seen:
    """The memory of a scaler: its recommendations, its changes of the replicas, and the time of the last work."""

    recommended: tuple[tuple[float, int], ...] = ()
    changed: tuple[tuple[float, int], ...] = ()
    active_at: float | None = None


def wanted(metric: float, replicas: int, target: float) -> int:
    """[HPA] for an external metric with AverageValue: enough replicas that each has `target` of it."""
    if replicas and abs(metric / (target * replicas) - 1) <= TOLERANCE:
        return replicas
    return math.ceil(metric / target)


def stabilized(recommended: Sequence[tuple[float, int]], replicas: int, rules: Rules, now: float) -> int:
    """[HPA]: down to the highest, and up to the lowest, of what was recommended within the window of its direction."""
    latest = recommended[-1][1]
    lowest = min([latest, *(n for at, n in recommended if at > now - rules.up.stabilization)])
    highest = max([latest, *(n for at, n in recommended if at > now - rules.down.stabilization)])
    return min(max(replicas, lowest), highest)


def limited(desired: int, replicas: int, changed: Sequence[tuple[float, int]], rules: Rules, now: float) -> int:
    """[HPA]: no further than the policies allow, and within the fewest and the most (an HPA's fewest is never 0)."""
    up, down = [], []
    for policy in rules.up.policies:
        begin = _at_begin(policy, replicas, changed, now)
        up.append(begin + policy.value if policy.kind == "Pods" else math.ceil(begin * (1 + policy.value / 100)))
    for policy in rules.down.policies:
        begin = _at_begin(policy, replicas, changed, now)
        down.append(begin - policy.value if policy.kind == "Pods" else int(begin * (1 - policy.value / 100)))
    if desired > replicas:
        desired = min(desired, max(replicas, *up))
    elif desired < replicas:
        desired = max(desired, min(replicas, *down))
    return min(max(desired, rules.fewest, 1), rules.most)


def decide(metric: float, replicas: int, seen: Seen, rules: Rules, now: float) -> tuple[int, Seen]:
    """One look: the replicas that there should be, and what to remember of it.

    Between none and one KEDA decides, above that the HPA which it feeds.
    """
    active_at = now if metric > rules.activation else seen.active_at
    if replicas == 0:
        after = max(1, rules.fewest) if metric > rules.activation or rules.fewest else 0
        return after, Seen(changed=_kept(seen.changed, 0, after, rules, now), active_at=active_at)
    if metric <= rules.activation and not rules.fewest:
        begun = active_at if active_at is not None else now
        if now - begun >= rules.cooldown:
            return 0, Seen(changed=_kept(seen.changed, replicas, 0, rules, now), active_at=begun)
        active_at = begun
    window = max(rules.up.stabilization, rules.down.stabilization)
    kept = [(at, n) for at, n in seen.recommended if at > now - window]
    recommended = (*kept, (now, wanted(metric, replicas, rules.target)))
    after = limited(stabilized(recommended, replicas, rules, now), replicas, seen.changed, rules, now)
    changed = _kept(seen.changed, replicas, after, rules, now)
    return after, Seen(recommended=recommended, changed=changed, active_at=active_at)


def _at_begin(policy: Policy, replicas: int, changed: Sequence[tuple[float, int]], now: float) -> int:
    """The replicas when the policy's period began, which ends now."""
    return replicas - sum(by for at, by in changed if at > now - policy.seconds)


def _kept(
    changed: Sequence[tuple[float, int]], before: int, after: int, rules: Rules, now: float
) -> tuple[tuple[float, int], ...]:
    longest = max(policy.seconds for policy in (*rules.up.policies, *rules.down.policies))
    recent = tuple((at, by) for at, by in changed if at > now - longest)
    return recent if after == before else (*recent, (now, after - before))
