"""A research team: a lead plans, a person approves the plan, a searcher looks things up, and a budget bounds it all.

In this process, you at the terminal:  python examples/research_team.py
Served:                                cd examples && turnwise up --app research_team:app
                                       turnwise submit research "Are heat pumps worth it?" --max-tokens 20000
                                       turnwise inbox
                                       turnwise answer RUN yes

With OPENAI_API_KEY set, a real model does the work.
"""

from __future__ import annotations

import os
import re

from pydantic import BaseModel, Field

from turnwise import (
    AgentDoneTool,
    AgentSendTool,
    App,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    Entity,
    LLMConfig,
    LLMResponse,
    LLMTokenUsage,
    MockLMConfig,
    NonToolAction,
    OpenAIGPTConfig,
    Task,
    ToolMessage,
)

# Stands in for a search service. Its words come from outside, so they are data and never tools.
NOTES = {
    "cost": "A heat pump costs 12,000 to 25,000 EUR with its installation. [survey 2026]",
    "cold": "At -10 degrees it still makes 2.5 times the heat of its electricity. [field test 2025]",
}

app = App("research")


class Plan(ToolMessage):
    request: str = "propose_plan"
    purpose: str = "To propose the <questions> to look up. A person approves them first."
    questions: list[str] = Field(min_length=1, max_length=5)


class AskSearcher(ToolMessage):
    request: str = "ask_searcher"
    purpose: str = "To have Searcher look up the next <question> of the approved plan."
    question: str


class Report(ToolMessage):
    request: str = "report"
    purpose: str = "To end the work with a <summary>, which names its sources."
    summary: str


class LookUp(ToolMessage):
    request: str = "look_up"
    purpose: str = "To find notes about <word>."
    word: str
    _effect = "read_only"

    def handle(self) -> str:
        found = [note for word, note in NOTES.items() if word in self.word.lower()]
        return "FOUND " + (" ".join(found) or "nothing")


class Lead(ChatAgent):
    """Holds in its state what was approved: no model can spend money on a search before a person said yes."""

    class State(BaseModel):
        approved: bool = False
        waiting: bool = False

    state: State

    def propose_plan(self, tool: Plan) -> AgentSendTool:
        self.state.waiting = True
        return AgentSendTool(to="User", content=f"The plan: {'; '.join(tool.questions)}. Go ahead?")

    def ask_searcher(self, tool: AskSearcher) -> AgentSendTool | str:
        if not self.state.approved:
            return "No plan is approved. Propose one."
        return AgentSendTool(to="Searcher", content=tool.question)

    def report(self, tool: Report) -> AgentDoneTool:
        return AgentDoneTool(content=tool.summary)

    def handle_message_fallback(self, msg: str | ChatDocument) -> None:
        """Read the person's answer to a plan; the model then reads it, too."""
        if self.state.waiting and isinstance(msg, ChatDocument) and msg.metadata.sender == Entity.USER:
            self.state.waiting, self.state.approved = False, msg.content.strip().lower() == "yes"


def _said(text: str | ToolMessage) -> LLMResponse:
    """An answer of a scripted model, with the tokens that a real one would have used."""
    written = text if isinstance(text, str) else text.to_json()
    return LLMResponse(message=written, usage=LLMTokenUsage(prompt_tokens=600, completion_tokens=60, calls=1))


def lead_script(message: str) -> LLMResponse:
    if message == "yes":
        return _said(AskSearcher(question="What does it cost?"))
    if "EUR" in message:
        return _said(AskSearcher(question="Does it work when it is cold?"))
    if "degrees" in message:
        return _said(Report(summary=f"It pays off where winters are mild. {message}"))
    if message.lower().startswith("no"):
        return _said(Report(summary="Nothing was looked up: the plan was not approved."))
    return _said(Plan(questions=["What does it cost?", "Does it work when it is cold?"]))


def searcher_script(message: str) -> LLMResponse:
    if message.startswith("FOUND"):
        return _said(message.removeprefix("FOUND "))
    word = re.search(r"cost|cold", message)
    return _said(LookUp(word=word[0] if word else message))


def model(script: MockLMConfig) -> LLMConfig:
    return OpenAIGPTConfig() if os.environ.get("OPENAI_API_KEY") else script


@app.task
def research() -> Task:
    lead = Lead(ChatAgentConfig(name="Lead", llm=model(MockLMConfig(response_fn=lead_script))))
    lead.enable_message([Plan, AskSearcher, Report])
    llm = model(MockLMConfig(response_fn=searcher_script))
    searcher = ChatAgent(ChatAgentConfig(name="Searcher", llm=llm, handle_llm_no_tool=NonToolAction.DONE))
    searcher.enable_message(LookUp)
    task = Task(lead, interactive=False)
    task.add_sub_task(Task(searcher, interactive=False))
    return task


if __name__ == "__main__":
    team = research()
    result = team.run("Are heat pumps worth it?", max_tokens=20_000)
    print(result.content if result else "no answer")
    print(team.stop_reason or "within its budget")
