"""Settings of an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, SerializeAsAny, SkipValidation, model_validator

from turnwise.base.configuration import Configuration
from turnwise.integrations.retrieval.config import VectorStoreConfig
from turnwise.integrations.retrieval.store import VectorStore
from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolEffect, ToolMessage
from turnwise.models.base import LLMConfig
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.retry_policy import RetryPolicy

_NAME = "LLM-Agent"


class NonToolAction(str, Enum):
    """The treatment of a model's message that holds no tool.

    `FORWARD_USER` (or `USER`) forwards it to the human, `DONE` ends the task with it.
    """

    FORWARD_USER = "user"
    USER = "user"
    DONE = "done"


class AgentConfig(Configuration):
    """Settings of any agent.

    - `name`: the agent's name, and that of its task unless the task is given one; an empty one is the default.
    - `llm`: settings of its model; by default those of `OpenAIGPTConfig()`. None for an agent without a model.
    - `respond_tools_only`: as a sub-task's agent it is not asked to answer a message without a tool.
    - `accept_user_tools=False`: what a human typed is never searched for tools, it is text for the model.
    - `fallback_effect`: what code of the agent's own does outside that answers as AGENT without being a tool's handler:
      `handle_message_fallback`, a function as `handle_llm_no_tool`, an override of `handle_message` or
      `agent_response`. As a tool's `_effect`: "read_only", "idempotent" or "once".
    - `retry`: how often a call of its model that failed is made again, see `RetryPolicy`.
    - `answer_timeout`: seconds that one try of an answer may take, of its model or of a tool's handler; None for no
      bound. A tool's own `_timeout` goes before. What took longer is a failure of the kind `timeout`.
    - `vecdb`: a vector store for the agent's handlers, or the settings of one, which is then opened at its first use.

    Raises `ConfigurationError` for a setting that does not exist.
    """

    _instead: ClassVar[Mapping[str, str]] = {
        "add_to_registry": "an agent is found by `ChatAgent.from_id` as long as somebody holds it",
        "parsing": "texts are split by `ingest_documents` and `split_text`, tokens counted by `num_tokens`",
        "prompts": "prompts are texts of the application; give them to `system_message`, or to tools",
        "show_stats": "what an agent's model used is in its `usage`, and in the usage of each message",
    }

    name: str = _NAME
    llm: SerializeAsAny[LLMConfig] | None = Field(default_factory=OpenAIGPTConfig)
    respond_tools_only: bool = False
    accept_user_tools: bool = True
    fallback_effect: ToolEffect = "once"
    retry: RetryPolicy = RetryPolicy()
    answer_timeout: float | None = Field(default=None, gt=0)
    vecdb: SerializeAsAny[VectorStoreConfig] | VectorStore | None = None

    @model_validator(mode="after")
    def _named(self) -> Self:
        # Queues, records and measures name the agent.
        if not self.name:
            self.name = _NAME
        return self


class ChatAgentConfig(AgentConfig):
    """Settings of an agent that holds a conversation; those of `AgentConfig`, and:

    - `system_message`: what the model is told first; how to use the tools is added to it.
    - `user_message`: a message from USER after it, with which every conversation begins; None for none.
    - `handle_llm_no_tool`: what the tool handler answers to a model's message without any tool: a `NonToolAction`, a
      text or a tool to answer with, or a function from the message to any of these. None for no answer.
    - `use_tools`: the system message tells the model to write tools as text.
    - `use_functions_api`: the model is given tools as functions of its API: as `tools` with `use_tools_api`, as the
      deprecated `functions` without.
    - `allow_multiple_tools`: several tools in one message are handled; if not, the model is told to use one at a time.
    - `enable_orchestration_tool_handling`: the agent handles DoneTool, PassTool, ForwardTool, SendTool and their like.
    - `recognize_recipient_in_content`: `TO[name]: text`, or JSON with a field `recipient`, in what the model says
      addresses it.
    - `output_format`: a tool, another pydantic model or a type such as `int` that the model's answers have to be; None
      for any text.
      `use_output_format`, `handle_output_format`, `instructions_output_format` and `use_tools_on_output_format` are the
      defaults of `use`, `handle`, `instructions` and `force_tools` of `set_output_format`. With
      `output_format_include_defaults` the model is told of fields that have defaults, too.
    - `strict_recovery`: a model that wrote a tool with bad fields is held to that tool's schema when it writes it
      again, where its server can do that.
    - `context_overflow_strategy`: what a model is sent of a conversation that is longer than its context: "truncate"
      shortens the oldest messages, "drop_turns" leaves out whole turns.
    """

    system_message: str = "You are a helpful assistant."
    user_message: str | None = None
    handle_llm_no_tool: NonToolAction | str | ToolMessage | Callable[[ChatDocument], Any] | None = None
    use_tools: bool = True
    use_functions_api: bool = False
    use_tools_api: bool = True
    allow_multiple_tools: bool = True
    enable_orchestration_tool_handling: bool = True
    recognize_recipient_in_content: bool = True
    # Checked by the agent: pydantic takes `list[int]` for no type.
    output_format: SkipValidation[type[Any]] | None = None
    use_output_format: bool = True
    handle_output_format: bool = True
    instructions_output_format: bool = True
    use_tools_on_output_format: bool = True
    output_format_include_defaults: bool = True
    strict_recovery: bool = True
    context_overflow_strategy: Literal["truncate", "drop_turns"] = "truncate"
