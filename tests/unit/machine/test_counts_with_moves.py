"""Counts that go with the moves, for drivers that take them so: the task ends as it does with counts asked for."""

from __future__ import annotations

from itertools import count

import pytest

from turnwise import ChatDocMetaData, ChatDocument, Entity, StatusCode
from turnwise.machine import stack
from turnwise.machine.actions import Answer, Answered, Ask, Count, Counts, Finish
from turnwise.machine.facts import Facts
from turnwise.machine.spec import TaskSpec
from turnwise.messages.toolset import AgentFacts
from turnwise.tasks.tally import Tally

_SPEC = TaskSpec(name="talk", path="talk", agent="talk", inf_loop_cycle_len=3, inf_loop_wait_factor=2)


class _Talk:
    """A model and a human who speak in turn; the model repeats itself from its tenth answer on."""

    def __init__(self, *, counts_with_moves: bool) -> None:
        ids, said = count(), count()
        self.facts = Facts(
            agent=lambda _: AgentFacts(name="talk", has_llm=True),
            new_id=lambda: f"doc_{next(ids)}",
            counts_with_moves=counts_with_moves,
        )
        self.tally, self.counts_asked_for = Tally(), 0
        first = ChatDocument(content="hello", metadata=ChatDocMetaData(id="doc_first"))
        move = stack.start(_SPEC, first, self.facts)
        while not isinstance(move.action, Finish):
            for frame, each in move.counts:
                assert frame == move.frame
                self.tally.add(each.hash)
            answer: Answer
            if isinstance(move.action, Count):
                self.counts_asked_for += 1
                self.tally.add(move.action.hash)
                answer = Counts(self.tally.commonest(move.action.n))
            else:
                assert isinstance(move.action, Ask)
                entity = Entity(move.action.responder)
                text = "go on" if entity is Entity.USER else f"answer {min(next(said), 10)}"
                metadata = ChatDocMetaData(id=self.facts.new_id(), sender=entity)
                answer = Answered(ChatDocument(content=text, metadata=metadata))
            move = stack.receive(_SPEC, move.stack, answer, self.facts, last_frame=move.last_frame)
        self.finish, self.turns = move.action, move.trace[-1].turn


@pytest.fixture
def asked_for() -> _Talk:
    return _Talk(counts_with_moves=False)


@pytest.fixture
def with_moves() -> _Talk:
    return _Talk(counts_with_moves=True)


def test_both_find_the_same_loop_in_the_same_turn(asked_for: _Talk, with_moves: _Talk) -> None:
    assert asked_for.finish.status is with_moves.finish.status is StatusCode.INF_LOOP
    assert asked_for.turns == with_moves.turns
    assert asked_for.tally.commonest(100) == with_moves.tally.commonest(100)


def test_only_counts_that_someone_looks_at_are_moves_of_their_own(asked_for: _Talk, with_moves: _Talk) -> None:
    assert asked_for.counts_asked_for == asked_for.turns
    assert with_moves.counts_asked_for == asked_for.turns // _SPEC.inf_loop_cycle_len
