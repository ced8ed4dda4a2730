"""Scripted teams of tasks, and a watch over each move that the machine makes of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import cycle
from typing import Any, TypeVar
from unittest import mock

from turnwise import (
    AgentDoneTool,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    DoneTool,
    Entity,
    FinalResultTool,
    LLMResponse,
    MockLMConfig,
    PassTool,
    RecipientTool,
    ResultTool,
    RewindTool,
    SendTool,
    Task,
    TaskConfig,
    ToolMessage,
    XMLToolMessage,
)
from turnwise.machine import stack
from turnwise.machine.actions import Answer, Answered, Ask, Counts, Finish
from turnwise.machine.facts import Facts
from turnwise.machine.spec import TaskSpec
from turnwise.machine.stack import Stack, StackMove
from turnwise.machine.state import TaskState, dump_state, load_state
from turnwise.messages.wire import Registry, decode_document, encode_document, encode_tool


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square <number>."
    number: int

    def handle(self) -> int:
        return self.number**2


class Note(ToolMessage):
    request: str = "note"
    purpose: str = "To note <text>."
    text: str

    def response(self, agent: ChatAgent, chat_doc: ChatDocument) -> ChatDocument:
        return agent.create_agent_response(f"noted {self.text}", recipient=chat_doc.metadata.recipient)


class Echo(ToolMessage):
    request: str = "echo"
    purpose: str = "To hand on <inner>."
    inner: str = ""

    def handle(self, chat_doc: ChatDocument) -> ToolMessage | str:
        return Square(number=len(self.inner)) if self.inner else f"nothing in {chat_doc.content}"


class End(ToolMessage):
    request: str = "end"
    purpose: str = "To end with <text>."
    text: str = ""

    def handle(self) -> AgentDoneTool:
        return AgentDoneTool(content=self.text, tools=[Square(number=1)])


class Silent(ToolMessage):
    request: str = "silent"
    purpose: str = "To do nothing."

    def handle(self) -> None:
        return None


class Slow(ToolMessage):
    request: str = "slow"
    purpose: str = "To wait for <text>."
    text: str = ""

    async def handle_async(self) -> str:
        await asyncio.sleep(0)
        return f"waited for {self.text}"


class Twice(ToolMessage):
    """Has a handler for each way, and its agent may handle it another time."""

    request: str = "twice"
    purpose: str = "To hand on the tools of a message."

    def response(self, agent: ChatAgent, chat_doc: ChatDocument) -> ChatDocument:
        return agent.create_agent_response("twice", tool_messages=[Square(number=2), Note(text="x")])

    async def response_async(self, agent: ChatAgent, chat_doc: ChatDocument) -> ChatDocument:
        return self.response(agent, chat_doc)


class Box(XMLToolMessage):
    request: str = "box"
    purpose: str = "To keep <text>."
    text: str

    def handle(self) -> dict[str, str]:
        return {"kept": self.text}


class Learn(ToolMessage):
    request: str = "learn"
    purpose: str = "To change what the agent handles."

    def response(self, agent: ChatAgent) -> str:
        agent.disable_message_handling(Square)
        agent.enable_message(Note)
        return "learnt"


class Outcome(ResultTool):
    request: str = "outcome"
    purpose: str = "To end with <text>."
    _allow_llm_use: bool = True


class Final(FinalResultTool):
    request: str = "final"
    purpose: str = "To end everything."
    _allow_llm_use: bool = True


TOOLS: tuple[type[ToolMessage], ...] = (
    *(Square, Note, Echo, End, Silent, Slow, Twice, Box, Learn, Outcome, Final),
    *(DoneTool, PassTool, SendTool, RecipientTool, RewindTool),
)

Said = TypeVar("Said")

# A line of a transcript: task, responder, taken or not, sender, recipient, text, results of calls, tools, taint.
Line = tuple[Any, ...]


class WatchedTask(Task):
    """A task that writes down each message it tries and each it takes."""

    transcript: list[Line]

    def log_message(self, resp: Entity | Task | None, msg: ChatDocument | None = None, mark: bool = False) -> None:
        who = resp.name if isinstance(resp, Task) else str(resp)
        if msg is None:
            self.transcript.append((self.name, who, mark))
            return
        meta = msg.metadata
        tools = [encode_tool(tool) for tool in msg.tool_messages]
        said = (meta.sender.value, meta.recipient, msg.content, msg.oai_tool_id2result, tools)
        self.transcript.append((self.name, who, mark, *said, meta.tainted, meta.tools_from_agent))


@dataclass(frozen=True, kw_only=True)
class Member:
    """One task of a team: its place below task number `above`, what its model says in turn, and its settings."""

    above: int = 0
    replies: tuple[str | LLMResponse, ...] = ("Mock",)
    usable: frozenset[int] = frozenset()
    handled: frozenset[int] = frozenset()
    human: str | None = None
    answers: tuple[str, ...] = ()
    interactive: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    agent: dict[str, Any] = field(default_factory=dict)


def saying(replies: Sequence[Said]) -> Callable[[str], Said]:
    """The answers of a model, or of a human, in turn and over and over."""
    left = cycle(replies)
    return lambda prompt: next(left)


def build_team(members: list[Member]) -> WatchedTask:
    """Fresh tasks and agents, named t0 (the root), t1, ...; all write one transcript."""
    tasks: list[WatchedTask] = []
    transcript: list[Line] = []
    for number, member in enumerate(members):
        llm = MockLMConfig(response_fn=saying(member.replies)) if member.replies else None
        agent = ChatAgent(ChatAgentConfig(name=f"t{number}", llm=llm, **member.agent))
        for index in sorted(member.usable | member.handled):
            agent.enable_message(TOOLS[index], use=index in member.usable, handle=index in member.handled)
        if member.answers:
            agent.callbacks.get_user_response = saying(member.answers)
        task = WatchedTask(
            agent,
            interactive=member.interactive,
            default_human_response=member.human,
            config=TaskConfig(**member.config),
            **member.options,
        )
        task.transcript = transcript
        if number:
            tasks[min(member.above, number - 1)].add_sub_task(task)
        tasks.append(task)
    return tasks[0]


@dataclass
class Watch:
    """Checks every move: illegal answers change nothing, all that was given stays as it was, and the state is JSON.

    With `through_json`, what is given to a move, and what a responder is shown, has been JSON in between. `sizes` are
    the lengths of the states as JSON, `finish` is how the run ended.
    """

    registry: Registry
    through_json: bool = False
    sizes: list[int] = field(default_factory=list)
    finish: Finish | None = None
    kept: dict[str, str] = field(default_factory=dict)

    def start(self, root: TaskSpec, message: ChatDocument | None, facts: Facts, **options: Any) -> StackMove:
        before = inputs_as_bytes(root, (), message, facts)
        move = _START(root, message, facts, **options)
        assert inputs_as_bytes(root, (), message, facts) == before, "the first move changed what it was given"
        return self._seen(move)

    def receive(
        self, root: TaskSpec, given: Stack, answer: Answer, facts: Facts, *, last_frame: int, sub_turns: int = -1
    ) -> StackMove:
        before = [self._dumped(frame.state) for frame in given]
        self.sizes.append(sum(map(len, before)))
        illegal: Answer = Answered() if isinstance(answer, Counts) else Counts(())
        try:
            _RECEIVE(root, given, illegal, facts, last_frame=last_frame)
        except ValueError:
            assert [self._dumped(frame.state) for frame in given] == before, "an illegal answer changed the state"
        else:
            raise AssertionError(f"{illegal} was taken in place of {answer}")
        used = given
        if self.through_json:
            used = tuple(f._replace(state=self._loaded(text)) for f, text in zip(given, before, strict=True))
        document = answer.document if isinstance(answer, Answered) else None
        inputs = inputs_as_bytes(root, used, document, facts)
        move = _RECEIVE(root, used, answer, facts, last_frame=last_frame, sub_turns=sub_turns)
        assert inputs_as_bytes(root, used, document, facts) == inputs, "a move changed what it was given"
        return self._seen(move)

    def _seen(self, move: StackMove) -> StackMove:
        if isinstance(move.action, Finish):
            self.finish = move.action
        for item in move.trace:
            if item.document is not None:
                self._keep(item.document)
        if self.through_json and isinstance(move.action, Ask) and move.action.message is not None:
            self._keep(move.action.message)
            shown = self._found(move.action.message.metadata.id)
            return move._replace(action=move.action._replace(message=shown))
        return move

    def _dumped(self, state: TaskState) -> str:
        data, documents = dump_state(state)
        for doc in documents:
            self._keep(doc)
        return json.dumps([data, [encode_document(doc) for doc in documents]])

    def _loaded(self, text: str) -> TaskState:
        data, bodies = json.loads(text)
        documents = [decode_document(body, self.registry, self._found) for body in bodies]
        return load_state(data, {doc.metadata.id: doc for doc in documents})

    def _keep(self, doc: ChatDocument) -> None:
        self.kept[doc.metadata.id] = json.dumps(encode_document(doc))

    def _found(self, document_id: str) -> ChatDocument | None:
        text = self.kept.get(document_id)
        return None if text is None else decode_document(json.loads(text), self.registry, self._found)


def inputs_as_bytes(root: TaskSpec, given: Stack, document: ChatDocument | None, facts: Facts) -> bytes:
    """All that a move is given, as text: the task, the facts, the states, and each document with all that it answers.

    Of documents and tools every field is in it, whether or not it has its default; facts that are callables are not.
    """
    told = [repr(root), repr([facts.agent(key) for key in root.agents()])]
    told.append(repr([value for value in facts if not callable(value)]))
    for frame in given:
        state = {item.name: getattr(frame.state, item.name) for item in fields(frame.state)}
        told.append(repr((frame.no, frame.path, {**state, "pending": None, "no_answer": None})))
        told.extend((*_with_ancestors(frame.state.pending), *_with_ancestors(frame.state.no_answer)))
    told.extend(_with_ancestors(document))
    return "\n".join(told).encode(errors="surrogatepass")


def _with_ancestors(document: ChatDocument | None) -> Iterator[str]:
    for _ in range(_ANCESTORS):
        if document is None:
            return
        yield document.model_dump_json(serialize_as_any=True)
        document = document.parent


# A document holds what it answers, and so on to the beginning; a move has nothing to do with what is further away.
_ANCESTORS = 4
_START, _RECEIVE = stack.start, stack.receive


@contextmanager
def watching(task: Task, *, through_json: bool = False) -> Iterator[Watch]:
    """Watch the moves of `task` within the block."""
    watch = Watch(task.tree().registry(), through_json)
    with mock.patch.object(stack, "start", watch.start), mock.patch.object(stack, "receive", watch.receive):
        yield watch
