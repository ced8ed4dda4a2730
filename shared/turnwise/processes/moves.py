"""How the runs of an installation are moved, from its settings; apart, so that these load without what serves runs."""

from __future__ import annotations

from turnwise.app import App
from turnwise.processes.settings import ServiceSettings
from turnwise.serving.moves.move import Mover
from turnwise.serving.observer import NO_OBSERVERS, Observer


def mover_of(settings: ServiceSettings, app: App, observers: Observer = NO_OBSERVERS) -> Mover:
    """Return what makes the moves of this application's runs as the settings say."""
    return Mover(
        app=app,
        llm_queues=settings.llm_queues,
        agent_queues=settings.agent_queues,
        max_attempts=settings.max_attempts,
        pinned=settings.pinned,
        observers=observers,
    )


def pinned_version(settings: ServiceSettings, app: App) -> str | None:
    """Return the version that this process's work is limited to; None: it works on runs of all versions."""
    return app.version if settings.pinned else None
