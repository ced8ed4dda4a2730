"""Counts of messages, by which a loop is found: most go with the moves, and few are asked for."""

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

    def __init__(self) -> None:
        ids, said = count(), count()
        facts = Facts(agent=lambda _: AgentFacts(name="talk", has_llm=True), new_id=lambda: f"doc_{next(ids)}")
        self.asked_for: list[Count] = []
        self.with_moves: list[Count] = []
        tally = Tally()
        first = ChatDocument(content="hello", metadata=ChatDocMetaData(id="doc_first"))
        move = stack.start(_SPEC, first, facts)
        while not isinstance(move.action, Finish):
            for frame, each in move.counts:
                assert frame == move.frame
                self.with_moves.append(each)
                tally.add(each.hash)
            answer: Answer
            if isinstance(move.action, Count):
                self.asked_for.append(move.action)
                tally.add(move.action.hash)
                answer = Counts(tally.commonest(move.action.n))
            else:
                assert isinstance(move.action, Ask)
                entity = Entity(move.action.responder)
                text = "go on" if entity is Entity.USER else f"answer {min(next(said), 10)}"
                metadata = ChatDocMetaData(id=facts.new_id(), sender=entity)
                answer = Answered(ChatDocument(content=text, metadata=metadata))
            move = stack.receive(_SPEC, move.stack, answer, facts, last_frame=move.last_frame)
        self.finish, self.turns = move.action, move.trace[-1].turn


@pytest.fixture
def talk() -> _Talk:
    return _Talk()


def test_the_loop_is_found_in_a_turn_in_which_one_is_looked_for(talk: _Talk) -> None:
    assert talk.finish.status is StatusCode.INF_LOOP
    assert talk.turns % _SPEC.inf_loop_cycle_len == 0


def test_each_message_that_is_taken_is_counted_once(talk: _Talk) -> None:
    assert len(talk.asked_for) + len(talk.with_moves) == talk.turns


def test_only_counts_that_someone_looks_at_are_moves_of_their_own(talk: _Talk) -> None:
    assert len(talk.asked_for) == talk.turns // _SPEC.inf_loop_cycle_len
    assert {each.n for each in talk.asked_for} == {_SPEC.inf_loop_cycle_len + 1}
    assert {each.n for each in talk.with_moves} == {0}
