"""The destination of spans and measurements: the providers that this process, or the program around it, has set up."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter, MeterProvider
    from opentelemetry.trace import Tracer, TracerProvider

_SCOPE = "turnwise"


class _Chosen:
    """The providers in use, with what was made of them; None for one stands for that of the whole program."""

    def __init__(self) -> None:
        self.tracers: TracerProvider | None = None
        self.meters: MeterProvider | None = None
        self.made: dict[int, tuple[Any, Any]] = {}


_chosen = _Chosen()


def use(tracers: TracerProvider | None, meters: MeterProvider | None) -> None:
    """Have spans and measurements of this process go there; None takes the program's own."""
    _chosen.tracers, _chosen.meters = tracers, meters
    _chosen.made.clear()


def may_be_provided() -> bool:
    """Return whether there can be a provider; False in programs without OpenTelemetry, which each turn asks often."""
    return "opentelemetry" in sys.modules or _chosen.tracers is not None or _chosen.meters is not None


def tracer_provider() -> TracerProvider | None:
    """Return where spans go; None if no one takes them."""
    if _chosen.tracers is not None:
        return _chosen.tracers
    # Who has set up a provider has imported the API; who has not, shall not pay for its import.
    api: Any = sys.modules.get("opentelemetry.trace")
    no_op = getattr(api, "NoOpTracerProvider", None)
    if no_op is None:
        return None
    provider = api.get_tracer_provider()
    return None if isinstance(provider, (api.ProxyTracerProvider, no_op)) else provider


def meter_provider() -> MeterProvider | None:
    """Return where measurements go; None if no one takes them."""
    if _chosen.meters is not None:
        return _chosen.meters
    api: Any = sys.modules.get("opentelemetry.metrics")
    no_op = getattr(api, "NoOpMeterProvider", None)
    if no_op is None:
        return None
    provider = api.get_meter_provider()
    # The placeholder of before a provider is set has no public name.
    waiting = type(provider).__module__.startswith("opentelemetry.metrics")
    return None if waiting or isinstance(provider, no_op) else provider


def tracer() -> Tracer | None:
    """Return what begins spans; None if no one takes them."""
    provider = tracer_provider()
    return None if provider is None else _of(provider, provider.get_tracer)


def meter() -> Meter | None:
    """Return what makes instruments; None if no one takes measurements."""
    provider = meter_provider()
    return None if provider is None else _of(provider, provider.get_meter)


def _of(provider: Any, make: Any) -> Any:
    """A tracer or a meter, made once for each provider."""
    known = _chosen.made.get(id(provider))
    if known is None or known[0] is not provider:
        from turnwise.base.version import VERSION

        known = _chosen.made[id(provider)] = (provider, make(_SCOPE, VERSION))
    return known[1]
