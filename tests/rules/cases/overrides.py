"""Tasks with a done, valid or result of their own."""

from __future__ import annotations

from tests.rules.cast import Cast
from tests.rules.scenario import scenario

from turnwise import (
    ChatDocument,
    StatusCode,
    Task,
)


class Sated(Task):
    """Ends at a word of its own, and otherwise as usual."""

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        current = result or self.pending_message
        if current is not None and "enough" in current.content:
            return True, StatusCode.NO_ANSWER
        return super().done(result, r)


@scenario(
    "TASK-7 VALID-1",
    """
    Boss LLM: one
    Boss Agent: on
    Boss LLM: enough
    Boss = NO_ANSWER
    => enough
    """,
)
def done_may_be_overridden(cast: Cast) -> Task:
    return cast.task("Boss", "one", "enough", agent={"handle_llm_no_tool": "on"}, kind=Sated)


@scenario(
    "TASK-7",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: one
    Bob Agent: on
    Bob LLM: enough
    Bob = NO_ANSWER
    Boss Bob: enough
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
)
def done_may_be_overridden_in_a_sub_task(cast: Cast) -> Task:
    bob = cast.task("Bob", "one", "enough", agent={"handle_llm_no_tool": "on"}, kind=Sated)
    return cast.task("Boss", "ask", "DONE", subs=[bob])


class Picky(Task):
    """Takes no answer that has no full stop, nor any of Bob's first."""

    def valid(self, result: ChatDocument | None, r: str) -> bool:
        return super().valid(result, r) and result is not None and result.content.endswith(".")


@scenario(
    "TASK-7 STEP-3",
    """
    Boss LLM refused: half
    Bob <- go
    Bob LLM: whole.
    Bob = FIXED_TURNS
    Boss Bob: whole.
    Boss = FIXED_TURNS
    => whole.
    """,
    turns=1,
)
def valid_may_be_overridden(cast: Cast) -> Task:
    return cast.task("Boss", "half", subs=[cast.task("Bob", "whole.", single_round=True)], kind=Picky)


class Wrapping(Task):
    """Wraps its result in words."""

    def result(self, status: StatusCode | None = None) -> ChatDocument | None:
        found = super().result(status)
        if found is not None:
            found.content = f"<{status.value if status else ''}: {found.content}>"
        return found


@scenario(
    "TASK-7 RESULT-2",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: mine
    Bob = FIXED_TURNS
    Boss Bob: <FIXED_TURNS: mine>
    Boss LLM: DONE it is
    Boss = DONE
    => <DONE: it is>
    """,
)
def result_may_be_overridden(cast: Cast) -> Task:
    bob = cast.task("Bob", "mine", single_round=True, kind=Wrapping)
    return cast.task("Boss", "ask", "DONE it is", subs=[bob], kind=Wrapping)


class Silent(Task):
    def result(self, status: StatusCode | None = None) -> ChatDocument | None:
        return None


@scenario(
    "TASK-7 RESULT-8",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: mine
    Bob = FIXED_TURNS
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def an_override_may_give_no_result(cast: Cast) -> Task:
    bob = cast.task("Bob", "mine", single_round=True, kind=Silent)
    return cast.task("Boss", "ask", subs=[bob], max_stalled_steps=1)


class Torn(Task):
    def valid(self, result: ChatDocument | None, r: str) -> bool:
        raise KeyError("no opinion")


@scenario(
    "ERR-2 TASK-7",
    """
    => raises KeyError: 'no opinion'
    """,
)
def an_override_that_raises_ends_the_run(cast: Cast) -> Task:
    return cast.task("Boss", "hm", kind=Torn)


class Watching(Task):
    """Ends when Bob has answered, whatever he says."""

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        if self.pending_sender == "Bob":
            return True, StatusCode.DONE
        return super().done(result, r)


@scenario(
    "TASK-7 STEP-4",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: mine
    Bob = FIXED_TURNS
    Boss Bob: mine
    Boss = DONE
    => mine
    """,
)
def an_override_may_look_at_the_pending_message_and_its_sender(cast: Cast) -> Task:
    return cast.task("Boss", "ask", subs=[cast.task("Bob", "mine", single_round=True)], kind=Watching)
