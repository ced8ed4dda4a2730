"""The move after a step: the end of the task, the check for loops, or the next step."""

from __future__ import annotations

from abc import ABC, abstractmethod

from turnwise.machine.actions import Action, Clear, Count, Counts, CutBack, Finish, Pause, Refused, Trace
from turnwise.machine.loops import is_loop, message_hash
from turnwise.machine.work import Scratch
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import StatusCode
from turnwise.messages.signals import NO_ANSWER


class AfterStep(Scratch, ABC):
    """The end of a step, and the end of the task."""

    @abstractmethod
    def begin_step(self) -> Action:
        """Begin the next step."""

    def end_step(self, taken: ChatDocument | None) -> Action:
        if self.stepwise:
            self._sequence()
            self.turn += 1
            self.candidates, self.cursor = (), 0
            return Pause(self.spec.path)
        over, status = self.done()
        self._sequence()
        if over:
            return self.finish(status)
        self.turn += 1
        # DONE-10, LIMIT-7
        if self.facts.out_of_time:
            return self.finish(StatusCode.TIMEOUT)
        # LIMIT-1, LIMIT-2, LIMIT-3
        if self.turns > 0 and self.turn >= self.turns and not 0 < self.facts.max_turns <= self.turn:
            return self.finish(StatusCode.FIXED_TURNS)
        if 0 < self.facts.max_turns <= self.turn:
            return self.finish(StatusCode.MAX_TURNS)
        if taken is None:
            return self.after_counting(())
        return self._count(taken)

    def _sequence(self) -> None:
        """Let the done-sequences see a message that became pending in this step."""
        # SEQ-1
        doc = self.pending
        if not self.spec.sequences or doc is None or doc.metadata.id == self.sequenced:
            return
        before = self.sequences or (0,) * len(self.spec.sequences)
        self.sequences = tuple(
            sequence.advance(bits, doc, self.agent) for sequence, bits in zip(self.spec.sequences, before, strict=True)
        )
        self.sequenced = doc.metadata.id

    def _count(self, taken: ChatDocument) -> Action:
        spec = self.spec
        self.taken += 1
        self.watch_no_answer(taken)
        # LOOP-3
        if spec.inf_loop_cycle_len <= 0 or self.pending is None:
            return self.after_counting(())
        key = message_hash(self.pending, self.agent)
        keep = spec.inf_loop_cycle_len * spec.inf_loop_wait_factor
        self.hashes = (*self.hashes, key)[-keep:]
        if self.turn % spec.inf_loop_cycle_len:  # not the turn in which to look for a loop
            self.counts = (*self.counts, Count(spec.path, key, 0))
            return self.after_counting(())
        self.counting = True
        return Count(spec.path, key, spec.inf_loop_cycle_len + 1)

    def watch_no_answer(self, taken: ChatDocument) -> None:
        """Count answers with NO_ANSWER that come exactly two steps after the last such one."""
        if NO_ANSWER not in taken.content:
            return
        self.alternations = self.alternations + 1 if self.turn - self.last_no_answer_turn == 2 else 0
        self.last_no_answer_turn = self.turn

    def counted(self, counts: Counts) -> Action:
        self.counting = False
        return self.after_counting(counts.commonest)

    def after_counting(self, commonest: tuple[tuple[str, int], ...]) -> Action:
        spec = self.spec
        due = spec.inf_loop_cycle_len > 0 and self.turn % spec.inf_loop_cycle_len == 0
        looping = (
            due
            and bool(commonest)
            and is_loop(
                commonest,
                self.hashes,
                total=self.taken,
                cycle_len=spec.inf_loop_cycle_len,
                dominance=spec.inf_loop_dominance_factor,
                wait_factor=spec.inf_loop_wait_factor,
            )
        )
        # LOOP-2, LOOP-5
        if looping:
            return self.finish(StatusCode.INF_LOOP, loop="the same messages are taken again and again")
        # LOOP-4
        if self.alternations > spec.inf_loop_wait_factor:
            return self.finish(StatusCode.INF_LOOP, loop=f"every other answer is {NO_ANSWER}")
        return self.begin_step()

    def finish(self, status: StatusCode, loop: str = "") -> Finish:
        self.candidates, self.cursor = (), 0
        result = self.result(status)
        self.trace.append(Trace("finished", self.spec.path, self.turn, "", result, self.pending, status))
        # HIST-5
        if status is not StatusCode.INF_LOOP and self.spec.erase_substeps:
            self.edits.append(CutBack(self.spec.agent, self.history_start))
            self.edits.extend(Clear(sub.agent) for sub in self.spec.sub_tasks)
        return Finish(self.spec.path, result, status, loop)

    def refuse(self, answer: Refused) -> Action:
        """A call was refused: the step ends without that answer, and the task with the limit's status."""
        # LIMIT-10
        self.refused = answer.limit
        return self.finish(StatusCode.MAX_COST if answer.limit == "cost" else StatusCode.MAX_TOKENS)
