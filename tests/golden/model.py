"""A scenario: the team, what is said to it, and the record of what it did. README.md describes the format."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .record import Golden

DATA = Path(__file__).parent / "data"
FILES = ("handwritten", "random", "api_calls", "more")
# No golden run reaches it; a loop that the engine misses ends here instead of hanging.
DEFAULT_TURN_LIMIT = 100


class Value(BaseModel):
    """A part of a scenario; a key it does not know is a mistake in the data or in the player."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ToolCall(Value):
    """A tool and the arguments to build it with."""

    name: str
    args: dict[str, Any] = Field(default_factory=dict)


class ReturnValue(Value):
    kind: Literal["constant", "dict", "list", "int"]
    value: Any


class Bare(Value):
    """The handlers that need nothing but what they are called with."""

    kind: Literal["none", "pass", "done_pass", "sender", "agent_name"]


class Echo(Value):
    kind: Literal["echo"]
    field: str


class Arithmetic(Value):
    kind: Literal["arithmetic"]
    op: Literal["add", "mul", "sub"]
    fields: tuple[str, ...]
    operand: int | None = Field(None, alias="with")
    text: str | None = None


class Done(Value):
    kind: Literal["done", "agent_done"]
    value: Any = None
    tools: tuple[ToolCall, ...] = ()


class Result(Value):
    kind: Literal["result", "final_result"]
    fields: dict[str, Any]


class Forward(Value):
    kind: Literal["forward"]
    to: str


class Send(Value):
    kind: Literal["send", "agent_send"]
    to: str
    value: Any
    tools: tuple[ToolCall, ...] = ()


class OtherTool(Value):
    kind: Literal["tool"]
    tool: ToolCall


class Count(Value):
    kind: Literal["counter"]
    text: str | None = None


class Raise(Value):
    kind: Literal["raise"]
    value: str = ""


class Countdown(Value):
    kind: Literal["countdown"]
    limit: int
    until: Handler
    then: Handler


Handler = Annotated[
    ReturnValue | Bare | Echo | Arithmetic | Done | Result | Forward | Send | OtherTool | Count | Raise | Countdown,
    Field(discriminator="kind"),
]


class ToolField(Value):
    name: str
    type: Literal["int", "str", "bool", "list[int]", "list[str]"]
    # None: the field has no default.
    default: Any = None


class Tool(Value):
    """A tool declared for the scenario; `name` is its request."""

    name: str
    fields: tuple[ToolField, ...] = ()
    base: Literal["FinalResultTool"] | None = None
    allow_llm_use: bool | None = None
    handler_name: str | None = None
    handler: Handler | None = None
    where: Literal["tool", "response", "agent"] = "tool"


class ApiCall(Value):
    id: str
    name: str
    arguments: dict[str, Any]


class ApiReply(Value):
    """A model's answer with API calls; a `content` of None is an answer without text."""

    content: str | None
    tool_calls: tuple[ApiCall, ...]


Reply = str | ApiReply


class Rule(Value):
    match: str
    reply: Reply
    uses: int | None = None


class Script(Value):
    rules: tuple[Rule, ...]
    default: Reply


class EnabledTool(Value):
    """A tool of the scenario, or a class of the library by its name; None leaves an argument at its default."""

    name: str
    use: bool | None = None
    handle: bool | None = None
    require_recipient: bool | None = None


class TextOfMessage(Value):
    """A function of the message, which puts the message's content in place of `{content}`."""

    callable: str


class AgentSettings(Value):
    handle_llm_no_tool: str | ToolCall | TextOfMessage | None = None
    enable_orchestration_tool_handling: bool | None = None
    recognize_recipient_in_content: bool | None = None
    respond_tools_only: bool | None = None
    allow_multiple_tools: bool | None = None
    use_functions_api: bool | None = None
    use_tools: bool | None = None
    use_tools_api: bool | None = None


class Agent(Value):
    name: str
    llm: Script | None = None
    tools: tuple[EnabledTool, ...] = ()
    config: AgentSettings = AgentSettings()


class TaskNode(Value):
    """A task with its sub-tasks; `params`, `config` and `as_sub_task` are arguments by name."""

    name: str
    agent: Agent
    params: dict[str, Any] = Field(default_factory=dict)
    config: dict[str, Any] = Field(default_factory=dict)
    sub_tasks: tuple[TaskNode, ...] = ()
    as_sub_task: dict[str, Any] | None = None


class Document(Value):
    content: str
    sender: Literal["LLM", "AGENT", "USER", "SYSTEM"] = "USER"
    recipient: str = ""
    tools: tuple[ToolCall, ...] = ()


class RunCall(Value):
    message: str | Document | None
    turns: int | None = None
    return_type: str | None = None


class Human(Value):
    answers: tuple[str, ...] = ()
    then: str = ""


class Scenario(Value):
    id: str
    why: str = ""
    features: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    task: TaskNode
    human: Human = Human()
    runs: tuple[RunCall, ...]
    turn_limit: int = DEFAULT_TURN_LIMIT
    golden: Golden

    @property
    def continues(self) -> bool:
        """Return whether a later run goes on with the conversation of an earlier one."""
        return len(self.runs) > 1 and self.task.params.get("restart") is False


@cache
def load(file: str) -> tuple[Scenario, ...]:
    """The scenarios of `data/<file>.jsonl`, in order; a malformed line raises pydantic's ValidationError."""
    lines = (DATA / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(Scenario.model_validate_json(line) for line in lines)


def load_all() -> tuple[Scenario, ...]:
    return tuple(scenario for file in FILES for scenario in load(file))
