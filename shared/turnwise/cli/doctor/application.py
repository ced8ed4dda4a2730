"""The application: does it load, and is anyone there for the runs that it has begun?"""

from __future__ import annotations

from collections.abc import Iterator

from turnwise.app import App, load_app
from turnwise.cli.doctor.finding import Finding, ok, warning
from turnwise.processes.settings import ServiceSettings
from turnwise.record.roles.monitor import MonitorRole


def load(settings: ServiceSettings) -> App:
    """The application, every task of it built once; raises `ApplicationError`."""
    return load_app(settings.app)


def loaded(app: App) -> Finding:
    """Report that it could be loaded."""
    return ok("application", f"{app.name}, version {app.version!r}, with the tasks {', '.join(app.tasks)}")


def check_queues(app: App, settings: ServiceSettings) -> Iterator[Finding]:
    """Check that each agent with a queue of its own is one of the application."""
    agents = {agent.config.name for task in app.tasks for agent in app.tree(task).agents.values()}
    given = {"TURNWISE_LLM_QUEUES": settings.llm_queues, "TURNWISE_AGENT_QUEUES": settings.agent_queues}
    for setting, queues in given.items():
        for name in sorted(queues.keys() - agents):
            yield warning(
                "queues of agents",
                f"{setting} names {name!r}, and the application has no such agent, so that this has no effect",
                f"correct the name, or remove it; the agents are {', '.join(sorted(agents))}",
            )


def check_versions(app: App, store: MonitorRole, settings: ServiceSettings) -> Iterator[Finding]:
    """Check that unfinished runs began with a version for which there is a process, and workers are of one
    version.
    """
    alive = {worker.version for worker in store.workers("alive")}
    served = alive | {app.version}
    begun = store.unfinished_versions()
    others = {version: n for version, n in begun.items() if version not in served}
    if settings.pinned and others:
        for version, n in sorted(others.items()):
            yield warning(
                "versions",
                f"{n} unfinished runs began with version {version!r} of the application, which no process has",
                "start processes of that version, or set TURNWISE_VERSION_POLICY=adopt",
            )
    elif not settings.pinned and len(alive) > 1:
        yield warning(
            "versions",
            f"processes of several versions of the application are running: {', '.join(sorted(map(repr, alive)))}",
            "end the deployment; with TURNWISE_VERSION_POLICY=adopt any of them may go on with any run",
        )
    else:
        yield ok("versions", "every unfinished run can be gone on with")
