"""Attributes in whole programs: a workflow with its plan, an author with a critic."""

from __future__ import annotations

from typing import Any

from tests.rules.attribute_parts import TOOLS, Number, Word, n, w
from tests.rules.cast import Cast
from tests.rules.scenario import scenario

from turnwise import (
    AgentDoneTool,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    DoneTool,
    Task,
    TaskConfig,
)


class Worker(ChatAgent):
    """Does one step of a plan, and hands the result up."""

    def number(self, msg: Number) -> Any:
        self.done_steps = getattr(self, "done_steps", 0) + 1
        return AgentDoneTool(content=f"{msg.n * 10} (step {self.done_steps})")


class Workflow(ChatAgent):
    """Follows a plan whose steps a sub-task carries out."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.current_step = 0
        self.results: list[str] = []

    def word(self, msg: Word) -> Any:
        self.plan = msg.w.split(",")
        self.current_step = 1
        return f"@Worker {self.plan[0]}"

    def handle_message_fallback(self, msg: str | ChatDocument) -> Any:
        if not isinstance(msg, ChatDocument) or msg.metadata.sender_name != "Worker":
            return None
        self.results.append(msg.content)
        if self.current_step == len(self.plan):
            return DoneTool(content=f"{self.results}")
        self.current_step += 1
        return f"@Worker {self.plan[self.current_step - 1]}"


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {word w=1,2}
    Boss Agent -> Worker: 1
    Worker <- 1
    Worker LLM: {number n=1}
    Worker Agent: ...
    Worker = DONE
    Boss Worker: 10 (step 1)
    Boss Agent -> Worker: 2
    Worker <- 2
    Worker LLM: {number n=2}
    Worker Agent: ...
    Worker = DONE
    Boss Worker: 20 (step 2)
    Boss Agent: ...
    Boss = DONE
    => ['10 (step 1)', '20 (step 2)']
    """,
)
def a_workflow_keeps_its_plan_while_sub_tasks_work(cast: Cast) -> Task:
    worker = cast.task(cast.agent("Worker", n(1), n(2), kind=Worker, tools=TOOLS))
    boss = cast.agent("Boss", w("1,2"), kind=Workflow, tools=TOOLS)
    return cast.task(boss, subs=[worker], config=TaskConfig(addressing_prefix="@"))


class Critic(ChatAgent):
    """Lets an answer pass the second time."""

    def llm_response(self, message: Any = None) -> Any:
        self.rounds = getattr(self, "rounds", 0) + 1
        self.drafts = [*getattr(self, "drafts", []), message.content]
        if self.rounds < 2:
            return f"DONE not yet: {message.content}"
        return f"DONE good after {self.drafts}"


class Author(ChatAgent):
    """Shows drafts to a critic until it is content."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.drafts: dict[int, str] = {}
        self.verdicts: list[str] = []

    def word(self, msg: Word) -> str:
        self.drafts[len(self.drafts) + 1] = msg.w
        return f"@Critic {msg.w}"

    def handle_message_fallback(self, msg: str | ChatDocument) -> Any:
        if not isinstance(msg, ChatDocument) or msg.metadata.sender_name != "Critic":
            return None
        self.verdicts.append(msg.content)
        return AgentDoneTool(content=f"{self.drafts} {self.verdicts}") if msg.content.startswith("good") else None


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {word w=draft}
    Boss Agent -> Critic: draft
    Critic <- draft
    Critic LLM: DONE not yet: draft
    Critic = DONE
    Boss Critic: not yet: draft
    Boss LLM: {word w=better}
    Boss Agent -> Critic: better
    Critic <- better
    Critic LLM: DONE good after ['draft', 'better']
    Critic = DONE
    Boss Critic: good after ['draft', 'better']
    Boss Agent: ...
    Boss = DONE
    => {1: 'draft', 2: 'better'} ['not yet: draft', "good after ['draft', 'better']"]
    """,
)
def an_author_and_a_critic_each_keep_what_they_have_seen(cast: Cast) -> Task:
    critic = cast.task(cast.agent("Critic", kind=Critic))
    boss = cast.agent("Boss", w("draft"), w("better"), kind=Author, tools=TOOLS)
    return cast.task(boss, subs=[critic], config=TaskConfig(addressing_prefix="@"))
