"""A step: the responders are asked in order until one gives a valid answer."""

from __future__ import annotations

from turnwise.machine.actions import Action, Ask, TakeBack, Trace, TraceKind
from turnwise.machine.after_step import AfterStep
from turnwise.machine.done import answer_is_done
from turnwise.machine.responders import (
    ENTITIES,
    candidates,
    handler_is_silent,
    known_recipient,
    may_answer,
    model_may_answer,
)
from turnwise.machine.routing import has_signal, read_route
from turnwise.machine.state import AGENT, LLM, USER
from turnwise.machine.trust import marked
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity, StatusCode
from turnwise.messages.human import human_answer
from turnwise.messages.signals import NO_ANSWER, PASS
from turnwise.messages.tool_parsing import tool_attempt, with_tools
from turnwise.messages.tools.orchestration import AgentDoneTool, DoneTool


class Step(AfterStep):
    """The search for a valid answer, and taking it."""

    def begin_step(self) -> Action:
        self.answer_done, self.passed, self.no_answer, self.no_answer_from = False, False, None, ""
        # STEP-2
        if self.pending is not None and not known_recipient(self.spec, self.pending.metadata.recipient):
            self.candidates, self.cursor = (AGENT,), 0
            wrong = self.made(Entity.AGENT, f"Invalid recipient: {self.pending.metadata.recipient}")
            wrong.metadata.tainted = self.pending.metadata.tainted
            return self.take(AGENT, wrong)
        self.candidates = candidates(self.spec, self.pending, self.last_asked, self.facts)
        self.cursor = 0
        return self.search()

    def search(self) -> Action:
        """Ask the next responder who may answer; answer for those who certainly have nothing to say."""
        while self.cursor < len(self.candidates):
            # LIMIT-8
            if self.facts.killed or self.facts.out_of_time:
                # No one else is asked: the step is broken off, which is not the same as no one having an answer.
                return self.finish(StatusCode.KILL if self.facts.killed else StatusCode.TIMEOUT)
            responder = self.candidates[self.cursor]
            if not may_answer(self.spec, responder, self.pending, self.pending_sender, self.facts):
                self.cursor += 1
                continue
            self.last_asked = responder
            known, answer = self._known_answer(responder)
            if not known:
                return Ask(self.spec.path, responder, self.pending, self.turn, self.cursor)
            valid = self._judge(responder, answer)
            if valid is not None:
                return self.take(responder, valid)
            # STEP-5
            if self.answer_done:
                break
            self.cursor += 1
        return self.no_valid_answer()

    def _known_answer(self, responder: str) -> tuple[bool, ChatDocument | None]:
        """Return whether the answer is certain without asking, and what it is."""
        if responder == AGENT:
            return handler_is_silent(self.agent, self.pending), None
        if responder == LLM:
            return not model_may_answer(self.agent, self.pending), None
        # HUMAN-3
        if responder == USER and self.spec.default_human_response is not None:
            return True, self.default_reply()
        return False, None

    def default_reply(self) -> ChatDocument | None:
        """Return what `default_human_response` says in the human's place."""
        reply = human_answer(
            self.spec.default_human_response or "",
            self.pending,
            default=self.spec.default_human_response,
            open_calls=self.agent.open_calls,
            new_id=self.facts.new_id(),
        )
        if reply is not None and self.pending is not None:
            reply.answers(self.pending)
        return reply

    def answered(self, responder: str, doc: ChatDocument | None) -> Action:
        valid = self._judge(responder, doc)
        if valid is not None:
            return self.take(responder, valid)
        if self.answer_done:
            return self.no_valid_answer()
        self.cursor += 1
        return self.search()

    def _judge(self, responder: str, doc: ChatDocument | None) -> ChatDocument | None:
        """The answer with its signals followed, if it is valid; else None."""
        if doc is not None:
            doc = self.followed(responder, doc)
            self.passed = self.passed or self._is_pass(doc)
            if NO_ANSWER in doc.content:
                self.no_answer, self.no_answer_from = doc, responder
        self.answer_done = answer_is_done(self.spec, doc, responder, self.agent)
        if doc is not None and self.valid(doc, responder):
            return doc
        if doc is not None:
            self.trace.append(Trace("rejected", self.spec.path, self.turn, responder, doc, self.pending))
        return None

    def followed(self, responder: str, doc: ChatDocument) -> ChatDocument:
        """The answer with its marks of trust, its tools attached if a model gave it, and its signals followed."""
        doc = marked(doc, responder, self.pending, self.agent)
        return self._routed(with_tools(doc, self.agent) if responder == LLM else doc)

    def _routed(self, doc: ChatDocument) -> ChatDocument:
        """Follow a signal in the answer's text; a named pass moves the pending message's recipient."""
        # ROUTE-8
        if not self.spec.recognize_string_signals:
            return doc
        if not has_signal(doc.content, self.spec.addressing_prefix):  # as nearly always
            return doc
        attempt = tool_attempt(doc, self.agent)
        route = read_route(doc.content, self.spec.addressing_prefix, only_at_start=attempt)
        if route is None or (route.is_pass and not route.recipient):
            return doc
        if route.is_pass:
            if self.pending is not None:
                # ROUTE-3, ROUTE-5
                asked, passed_on = self.pending.metadata.id, self.replace_pending()
                passed_on.metadata.recipient = route.recipient
                if doc.metadata.parent_id == asked:
                    # If it is taken, it answers what is passed on.
                    doc = doc.with_metadata(parent_id="")
                if PASS not in doc.content:
                    return doc.changed(content=PASS)
            return doc
        # ROUTE-4, ROUTE-6
        value = route.text if doc.content_any == doc.content else doc.content_any
        metadata = doc.metadata.changed(recipient=route.recipient)
        return doc.changed(content=route.text, content_any=value, metadata=metadata)

    def _is_pass(self, doc: ChatDocument) -> bool:
        return self.spec.recognize_string_signals and PASS in doc.content

    def take(self, responder: str, doc: ChatDocument) -> Action:
        """Make the answer the pending message, or hand the old one on if the answer is a pass."""
        parent, given = self.pending, doc
        passed = self._is_pass(doc)
        if parent is not None:
            # MSG-13
            doc = doc.answering(parent)
            meta = doc.metadata
            if meta.parent_id != parent.metadata.id and responder in ENTITIES and not meta.takes_back:
                doc = doc.following(parent)
        if not passed and (responder != AGENT or doc.metadata.sender is Entity.LLM):
            # Not in what AGENT says itself: a result may quote a tool, and the human has the first word on it.
            doc = with_tools(doc, self.agent)
        if self.no_answer is given:
            self.no_answer = doc
        kind: TraceKind = "passed" if passed else "taken"
        self.trace.append(Trace(kind, self.spec.path, self.turn, responder, doc, parent))
        # ROUTE-2
        if passed:
            self.stalled += 1
        else:
            # STEP-3
            self.stalled = 0
            self.pending = doc
            # STEP-4
            self.pending_sender = doc.metadata.sender.value if responder in ENTITIES else responder
            self._without_done_tools()
            if responder == AGENT and doc.metadata.takes_back:
                self._take_back(doc.metadata.takes_back)
        return self.end_step(doc)

    def _take_back(self, documents: tuple[str, ...]) -> None:
        """Let the agents of sub-tasks forget what a rewind of this task's agent undid."""
        # ORCH-18
        below = dict.fromkeys(key for sub in self.spec.sub_tasks for key in sub.agents())
        self.edits.extend(TakeBack(key, frozenset(documents)) for key in below if key != self.spec.agent)

    def _without_done_tools(self) -> None:
        """In an interactive root that only the human may end, done tools of others are taken off."""
        doc, spec = self.pending, self.spec
        # STEP-8
        if doc is None or self.caller is not None or not (spec.interactive and spec.only_user_quits_root):
            return
        if doc.tool_messages and (self.answer_done or self.done()[0]):
            kept = [t for t in doc.tool_messages if not isinstance(t, (DoneTool, AgentDoneTool))]
            if len(kept) != len(doc.tool_messages):
                self.replace_pending().tool_messages = kept

    def no_valid_answer(self) -> Action:
        # STEP-6
        if self.no_answer is not None:
            return self.take(self.no_answer_from, self.no_answer)
        self.stalled += 1
        self.trace.append(Trace("none", self.spec.path, self.turn))
        # STEP-7
        if self.spec.allow_null_result and not self.passed:
            sender = Entity.LLM if self.pending_sender == USER else Entity.USER
            stand_in = self.made(sender, NO_ANSWER)
            if self.pending is not None:
                stand_in.answers(self.pending)
                stand_in.metadata.tainted = self.pending.metadata.tainted
            self.trace.append(Trace("null", self.spec.path, self.turn, sender.value, stand_in, self.pending))
            self.pending, self.pending_sender = stand_in, sender.value
            self.watch_no_answer(stand_in)
        return self.end_step(None)

    def look(self) -> Action:
        if self.facts.killed:
            return self.finish(StatusCode.KILL)
        if self.facts.out_of_time:
            return self.finish(StatusCode.TIMEOUT)
        return Ask(self.spec.path, self.awaiting, self.pending, self.turn, self.cursor)
