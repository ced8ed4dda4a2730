"""The context of a call: one value, in one context variable."""

from __future__ import annotations

import contextvars
import re
import threading
from pathlib import Path

import turnwise
from turnwise.base.call_context import CallContext, CallPart, current_call, under

PAYER, DEEP = CallPart[str | None](None), CallPart(0)

# Every other variable is state that outlives a call, or belongs to something else than a call.
OTHERS = {
    "turnwise_on_screen": "the text on the terminal, which the next question reads",
    "turnwise_left": "whether the human of a run has left, which is set within a call and read after it",
    "turnwise_settings": "how a program wants things shown",
    "turnwise_log_fields": "what log lines are about, which is bound around a move or an attempt by an observer",
    "turnwise_run_log": "the log that a task's own `log_message` writes to",
    "turnwise_id_source": "the ids of a decision that is made again",
    "turnwise_move_span": "the span of a move",
    "turnwise_attempt_span": "the span of an attempt",
    "turnwise_simulated_place": "the process that a simulated thread belongs to",
}


def test_a_context_with_another_part_leaves_the_first_as_it_is() -> None:
    first = CallContext()
    second = first.but(PAYER, "run").but(DEEP, 2)

    assert (first[PAYER], first[DEEP]) == (None, 0)
    assert (second[PAYER], second[DEEP]) == ("run", 2)
    assert second.but(DEEP, 3)[PAYER] == "run"


def test_a_block_sets_its_part_and_keeps_those_around_it() -> None:
    with under(PAYER, "run"):
        with under(DEEP, 1), under(DEEP, current_call()[DEEP] + 2):
            assert (current_call()[PAYER], current_call()[DEEP]) == ("run", 3)
        assert (current_call()[PAYER], current_call()[DEEP]) == ("run", 0)
    assert current_call()[PAYER] is None


def test_a_context_that_is_opened_takes_the_place_of_the_whole_one() -> None:
    with under(PAYER, "run"), CallContext().but(DEEP, 5).open():
        assert (current_call()[PAYER], current_call()[DEEP]) == (None, 5)


def test_a_thread_has_the_context_only_in_a_copy() -> None:
    seen: list[str | None] = []

    def look() -> None:
        seen.append(current_call()[PAYER])

    with under(PAYER, "run"):
        for target in (look, lambda: contextvars.copy_context().run(look)):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
        contextvars.copy_context().run(look)

    assert seen == [None, None, "run"]


def test_every_other_context_variable_has_a_reason() -> None:
    package = Path(turnwise.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in package.rglob("*.py")]
    found = {name for text in texts for name in re.findall(r'ContextVar\(\s*"(\w+)"', text)}
    assert found == {"turnwise_call"} | set(OTHERS)
