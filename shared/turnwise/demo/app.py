"""The application: `turnwise up --app turnwise.demo.app:app` serves it."""

from __future__ import annotations

from turnwise import App, Task, TaskConfig
from turnwise.demo.billing import billing_agent
from turnwise.demo.documentation import documentation_agent
from turnwise.demo.model import model_config
from turnwise.demo.triage import triage_agent

app = App("support-desk", version="1")

# Tickets and reports quote strangers: no word in a text may steer a task here, only tools do.
_NO_SIGNALS = TaskConfig(recognize_string_signals=False)


@app.task
def triage() -> Task:
    """One ticket, from its message (`tickets.ticket_message`) to a result that `tickets.outcome_of` reads."""
    llm = model_config()
    task = Task(triage_agent(llm), interactive=False, config=_NO_SIGNALS)
    task.add_sub_task(
        [
            Task(billing_agent(llm), interactive=False, config=_NO_SIGNALS),
            Task(documentation_agent(llm), interactive=False, config=_NO_SIGNALS),
        ]
    )
    return task
