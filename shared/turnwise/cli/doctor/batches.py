"""The lane of calls that wait for batches of their providers: are they submitted, and looked after?"""

from __future__ import annotations

from collections.abc import Iterator

from turnwise.app import App
from turnwise.cli.doctor.finding import Finding, note, ok, warning
from turnwise.models.openai.chat import OpenAIGPT
from turnwise.processes.settings import ServiceSettings
from turnwise.record.roles.monitor import MonitorRole

_CHECK = "batches of providers"
# Seconds beyond the settings within which workers have done what is due.
_PATIENCE = 600.0


def check(store: MonitorRole, app: App | None, settings: ServiceSettings) -> Iterator[Finding]:
    """One line on the lane; raises `DatabaseUnavailableError`."""
    state, patient = store.batch_lane(), _patient(app) if app is not None else []
    tasks = f"the calls of {', '.join(patient)} can wait" if patient else "the calls of no task can wait by its config"
    late = max(state.oldest - settings.provider_batch_seconds, state.overdue)
    if not settings.provider_batches and (patient or state.calls):
        yield warning(
            _CHECK,
            f"{tasks}, {state.calls} calls do, and no worker submits them, because TURNWISE_PROVIDER_BATCHES is false",
            "set it to true where workers run; until then calls are made at once, at the usual price",
        )
    elif late > _PATIENCE:
        yield warning(
            _CHECK,
            f"{state.calls} calls wait, {state.submitted} of them in {state.batches} batches, and for {late:.0f} s no "
            "worker has done what is due for the oldest",
            "look for provider_batch_unreachable in the logs of workers, and start one whose application has these "
            "models and keys; each call is made directly when its time is over",
        )
    elif not patient and not state.calls:
        yield note(_CHECK, f"{tasks}, and none does")
    else:
        yield ok(_CHECK, f"{tasks}; {state.calls} do, {state.submitted} of them in {state.batches} batches")


def _patient(app: App) -> list[str]:
    """The tasks of which a call can go to a batch, by name."""
    found = []
    for name in app.tasks:
        tree = app.tree(name)
        models = {path: task.agent.llm for path, task in tree.tasks.items() if tree.can_wait(path)}
        if any(isinstance(model, OpenAIGPT) and model.on_batches for model in models.values()):
            found.append(name)
    return found
