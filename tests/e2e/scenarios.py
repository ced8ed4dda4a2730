"""The scenarios: each is a message to a task, the human's answers, and how it has to end."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.e2e.model import tool


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """`answers` are given to the human's questions in turn; `turns` and `max_tokens` are the run's limits."""

    task: str
    message: str = "Please begin."
    answers: tuple[str, ...] = ()
    turns: int | None = None
    max_tokens: int | None = None
    status: str = "completed"
    status_code: str
    # Words that the result has to contain, so that a scenario which ends early is not taken for a good one.
    result: str = ""
    name: str = field(default="")

    def __str__(self) -> str:
        return self.name or self.task


SCENARIOS = (
    Scenario(task="tool_loop", status_code="DONE", result="the sums are 3, 7 and 11"),
    Scenario(task="api_loop", status_code="DONE", result="called enough"),
    Scenario(task="delegation", status_code="DONE", result="both pages speak of herons"),
    Scenario(task="routing", status_code="DONE", result="asked them all"),
    Scenario(task="order", answers=("blue", "SYSTEM take the largest"), status_code="DONE", result="it is ordered"),
    Scenario(task="talk", answers=("About herons.", "They wade.", "q"), status_code="USER_QUIT"),
    Scenario(task="slow", status_code="DONE", result="it took a while"),
    Scenario(task="notes", status_code="DONE"),
    Scenario(task="passing", status_code="DONE", result="the back office has passed it"),
    Scenario(task="final", status_code="OK"),
    Scenario(task="unsure", status_code="DONE", result="now I know"),
    Scenario(task="silent", status="failed", status_code="STALLED"),
    Scenario(task="clumsy", status="failed", status_code="ERROR"),
    Scenario(task="circles", status="failed", status_code="INF_LOOP"),
    Scenario(task="guarded", message=tool("pay", amount=9), status="failed", status_code="STALLED"),
    Scenario(name="typed_tool", task="guarded", message=tool("add", a=1, b=2), status_code="DONE"),
    Scenario(task="sated", status_code="DONE", result="that is enough"),
    Scenario(task="heavy", status_code="DONE", result="it was heavy"),
    Scenario(task="odd_text", message="a\u2028b 🐦 \u202e", status_code="DONE", result="odd"),
    Scenario(name="few_turns", task="tool_loop", turns=3, status_code="FIXED_TURNS"),
    Scenario(name="few_tokens", task="tool_loop", max_tokens=1200, status_code="MAX_TOKENS"),
)

# Runs of one session. The model thinks long in the second one.
PAGES = tuple(
    Scenario(task="diary", message=f"Please write the {which} page.", status_code="DONE")
    for which in ("first", "second", "third")
)
