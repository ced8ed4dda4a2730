"""The application that the dashboards look at; processes load it as `tests.e2e.observed:app`."""

from __future__ import annotations

from tests.e2e import application, side_effects

from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task

app = App("observed")

# Conversations with tools, humans, sub-tasks and errors, a model that thinks for ever, tools that may be called once.
for _task in (
    application.tool_loop,
    application.delegation,
    application.order,
    application.slow,
    application.endless,
    application.patient,
    application.silent,
    application.clumsy,
    application.sated,
    side_effects.clerk,
):
    app.task(_task)


@app.task
def unpriced() -> Task:
    """Nobody knows what its model costs."""
    llm = OpenAIGPTConfig(chat_model="turnwise-odd", timeout=90)
    return Task(ChatAgent(ChatAgentConfig(name="Odd", llm=llm, system_message="You play patient.")), interactive=False)
